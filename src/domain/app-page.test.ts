// Links to pages of the console. web/src/search.test.ts and test/console/jobs.test.ts open such addresses.
import { expect, test } from 'vitest'
import { appPage, packagePath, reviewPath } from './app-page.ts'

const place = { version: '1.0-1', distribution: 'jammy', arch: 'amd64' }

test.each([
  ['https://gate.test', 'https://gate.test/review'],
  ['https://gate.test/below//', 'https://gate.test/below/review'],
])('%s leads to %s', (appUrl, address) => {
  expect(appPage(appUrl, '/review')).toBe(address)
})

test.each([
  ['curl', place, '/packages/curl?version=1.0-1&distribution=jammy&arch=amd64'],
  ['curl', { ...place, version: '1.10' }, '/packages/curl?version=%221.10%22&distribution=jammy&arch=amd64'],
  ['g++ ?#/', { version: '1:2+b', distribution: null, arch: null }, '/packages/g%2B%2B%20%3F%23%2F?version=1%3A2%2Bb'],
  ['half \ud800', { version: 'null', distribution: null, arch: null }, '/packages/half%20%EF%BF%BD?version=%22null%22'],
])('the page of %s %j', (name, where, path) => {
  expect(packagePath(name, where)).toBe(path)
})

test.each([
  [{ package: 'curl', ...place }, '/review?item=curl%201.0-1%20amd64%20jammy'],
  [{ package: 'curl', ...place, arch: null }, '/review'],
])('the review of %j', (subject, path) => {
  expect(reviewPath(subject)).toBe(path)
})
