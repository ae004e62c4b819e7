// JavaScript, because Next rewrites the tsconfig.json of an application that has TypeScript.
export default {
  transpilePackages: ['@purser/merchant'],
  distDir: process.env.NEXT_SHOP_BUILD,
}
