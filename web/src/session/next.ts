/** The target after a sign-in: only a path of this console. `//host`, `/\host` and `https:` would lead elsewhere. */
export const ownPath = (next: string | null | undefined): string => (next && /^\/(?![/\\])/.test(next) ? next : '/')
