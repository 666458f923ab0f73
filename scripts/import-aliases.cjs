// Where import names lead among the sources, in the form that dependency-cruiser reads (enhanced-resolve's `resolve`): the
// package's own `imports` lead to the build, which need not exist and is not what the import rules are about.
const { join } = require('node:path');

const root = join(__dirname, '..');

module.exports = {
  resolve: {
    alias: {
      '#kit': join(root, 'services/kit'),
      '#proto': join(root, 'proto/gen/tollgate'),
      '#client': join(root, 'proto/client'),
      '#google': join(root, 'proto/gen/google'),
      '#rules': join(root, 'proto/rules'),
    },
    extensionAlias: { '.js': ['.ts', '.tsx', '.js'] },
  },
};
