// How imports among the sources resolve, in the form that dependency-cruiser reads (enhanced-resolve's `resolve`).
module.exports = { resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } } };
