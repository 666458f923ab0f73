/** Schema keyword: names the rule that a value breaks if it does not match, for the error message. */
export const ruleKeyword = 'x-tollgate-rule';
