// A lint rule: the console's components must not contain texts, which would exist in only one language. Texts belong in console/src/i18n.
const spoken = new Set(['aria-label', 'title', 'placeholder', 'alt', 'label', 'hint', 'description', 'caption', 'summary']);
// Names that are the same in every language.
const names = /^(Tollgate|English|简体中文|UTC|CSV|JSONL|JSON|curl|[^\p{L}]*|[g/?] ?\w?)$/u;

const textsInDictionaries = {
  meta: { type: 'problem', schema: [] },
  create(context) {
    const check = (node, text) => {
      if (!names.test(text.trim()))
        context.report({
          node,
          message: `"${text.trim().slice(0, 40)}" is a text for people; put it into a dictionary of console/src/i18n, in both languages.`,
        });
    };
    return {
      JSXText: (node) => check(node, node.value),
      JSXAttribute(node) {
        if (spoken.has(node.name.name) && node.value?.type === 'Literal' && typeof node.value.value === 'string')
          check(node, node.value.value);
      },
    };
  },
};

export default { meta: { name: 'console' }, rules: { 'texts-in-dictionaries': textsInDictionaries } };
