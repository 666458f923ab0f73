// Where in the console somebody goes after they have signed in. Pure.

/** A page below /console/: words between slashes, so that it can be no other site, no scheme and no way up. */
const form = /^(?=.{1,500}$)[\w-]+(\/[\w.~-]*[\w~-])*(\?[\w.~%&=+:,-]*)?$/;

/** The page, if it is one of the console's; else its first. */
export function pagePath(wanted: string): string {
  return form.test(wanted) ? wanted : '';
}
