// One publisher for all places: distributions by their indexes, repositories by the listings of their names.
import { isRepository } from '../../domain/repositories.ts'
import type { Publisher } from '../publisher.ts'
import type { ListingPublisher } from './listing-publisher.ts'

export function withListings(publisher: Publisher, listings: ListingPublisher): Publisher {
  const of = (place: string) => (isRepository(place) ? listings : publisher)
  return {
    ...publisher,
    converge: (place, names) => of(place).converge(place, names),
    expect: (place) => (isRepository(place) ? () => {} : publisher.expect(place)),
    rebuild: (place) => of(place).rebuild(place),
    async recover() {
      return [...(await publisher.recover()), ...(await listings.recover())]
    },
    // A name's file is replaced as a whole, so no clean-up follows.
    removeUnpublished: (place) => (isRepository(place) ? Promise.resolve() : publisher.removeUnpublished(place)),
    async collect() {
      await publisher.collect()
      await listings.collect()
    },
  }
}
