// Work that is synchronous when its values are known at once.

/** Goes on with a value: at once when it is known, otherwise when it is. */
export function after<A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}
