// Codes that people read from one screen and type into another: `WDJB-MJHT`.
import { randomInt } from 'node:crypto'

/** Without vowels, so that no code is a word, and without letters that look alike (RFC 8628, section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8

/** 2.5e10 codes: far more than can be tried within the ten minutes of one. */
export function randomUserCode(): string {
  const text = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return `${text.slice(0, LENGTH / 2)}-${text.slice(LENGTH / 2)}`
}

/** What is compared: people type small letters, blanks and other dashes. */
export function normalUserCode(typed: string): string {
  return typed.toUpperCase().replace(/[^A-Z]/g, '')
}
