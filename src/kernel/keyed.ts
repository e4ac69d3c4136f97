// One value for each key.

/** Makes a value when its key is first used, and keeps it: there are as many values as used keys. */
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
