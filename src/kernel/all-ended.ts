// Waiting for several promises until none of them is pending.

/** Like `Promise.all`, but nothing is still running when it returns or throws. Throws the first failure in list order. */
export async function allEnded<T extends readonly unknown[]>(work: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const ends = await Promise.allSettled(work)
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
  return ends.map((end) => (end as PromiseFulfilledResult<unknown>).value) as unknown as T
}
