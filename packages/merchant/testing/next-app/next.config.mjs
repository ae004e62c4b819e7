// JavaScript, because Next rewrites the tsconfig.json of an application that has TypeScript.
export default {
  transpilePackages: ['@purser/merchant'],
  distDir: process.env.NEXT_SHOP_BUILD,
  // Each build is used once and read by nobody. What makes it small or the next one fast costs a third of its time.
  experimental: {
    turbopackFileSystemCacheForBuild: false,
    turbopackMinify: false,
    turbopackSourceMaps: false,
  },
}
