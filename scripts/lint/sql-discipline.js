// A lint rule: inside a transaction, every command has one statement and is awaited. Without either, Galera has lost acknowledged transactions, and after a
// deadlock the server commits by itself what was sent without waiting (services/kit/README.md, "Statements").

const statements = new Set(['query', 'run', 'find', 'lock', 'insert', 'overwrite', 'raw']);
const gatherers = new Set(['all', 'allSettled', 'race', 'any']);

/** Whether the expression is `tx`, or a chain of members and calls that begins with it. */
function beginsWithTx(node) {
  if (node.type === 'Identifier') return node.name === 'tx';
  if (node.type === 'CallExpression') return beginsWithTx(node.callee);
  if (node.type === 'MemberExpression') return beginsWithTx(node.object);
  return false;
}

function isStatement(node) {
  const { callee } = node;
  return (
    callee.type === 'MemberExpression' &&
    callee.object.type === 'Identifier' &&
    callee.object.name === 'tx' &&
    statements.has(callee.property.name)
  );
}

/** Whether it is awaited, or returned to the caller, who has to await it. */
function isAwaited(node) {
  const { parent } = node;
  if (parent.type === 'AwaitExpression' || parent.type === 'ReturnStatement') return true;
  return parent.type === 'ArrowFunctionExpression' && parent.body === node;
}

function textOf(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral') return node.quasis.map((part) => part.value.cooked).join('?');
  return undefined;
}

const oneAwaitedStatement = {
  meta: { type: 'problem', schema: [] },
  create(context) {
    const gathered = (node) => {
      for (let { parent } = node; parent; parent = parent.parent) {
        if (parent.type.includes('Function')) return false;
        const { callee } = parent;
        if (
          parent.type === 'CallExpression' &&
          callee.type === 'MemberExpression' &&
          callee.object.name === 'Promise' &&
          gatherers.has(callee.property.name)
        )
          return true;
      }
      return false;
    };
    return {
      Property(node) {
        const name = node.key.name ?? node.key.value;
        if (name === 'multipleStatements' && node.value.value !== false) {
          context.report({
            node,
            message: 'A string of several statements loses transactions on Galera and invites injection: multipleStatements is false.',
          });
        }
      },
      CallExpression(node) {
        const { callee } = node;
        const method = callee.type === 'MemberExpression' ? callee.property.name : undefined;
        if (method === 'raw' || method === 'query' || method === 'run') {
          if (/;\s*\S/.test(textOf(node.arguments[0]) ?? ''))
            context.report({ node, message: 'Send one statement per command: send what follows the semicolon separately.' });
        }
        if (isStatement(node) && !isAwaited(node)) {
          context.report({
            node,
            message: 'Await each statement of a transaction, or return it: the next one may be sent only after its response.',
          });
        } else if (beginsWithTx(node) && gathered(node)) {
          context.report({ node, message: 'Run the statements of a transaction one after another, not concurrently.' });
        }
      },
    };
  },
};

export default { meta: { name: 'tollgate' }, rules: { 'one-awaited-statement': oneAwaitedStatement } };
