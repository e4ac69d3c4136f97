// Work that is synchronous when its values are already known.

/** Continues with a value: immediately if it is known, otherwise when its promise resolves. */
export function after<A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}
