// The page of the console that is shown after a sign-in. Pure.

/** A page below /console/: words between slashes, so that it cannot be another site, a scheme or a parent path. */
const form = /^(?=.{1,500}$)[\w-]+(\/[\w.~-]*[\w~-])*(\?[\w.~%&=+:,-]*)?$/;

/** Returns the page if it has the form of the console's pages; otherwise the home page. */
export function pagePath(wanted: string): string {
  return form.test(wanted) ? wanted : '';
}
