/** Where a sign-in leads: a path of this console only. `//host`, `/\host` and `https:` would lead elsewhere. */
export const ownPath = (next: string | null | undefined): string => (next && /^\/(?![/\\])/.test(next) ? next : '/')
