/** Needed in this repository only, where the packages are TypeScript. */
export default { transpilePackages: ['@purser/client', '@purser/merchant'] }
