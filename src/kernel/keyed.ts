// One of something for each key.

/** Makes it when its key is used first, and keeps it: there are as many as keys were used. */
export function createKeyed<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}
