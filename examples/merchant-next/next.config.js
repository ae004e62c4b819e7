/** Only needed in this repository, where the packages are TypeScript. */
export default { transpilePackages: ['@purser/client', '@purser/merchant'] }
