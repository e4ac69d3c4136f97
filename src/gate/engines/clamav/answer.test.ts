// What each answer of clamd means, as data.
import { describe, expect, it } from 'vitest'
import { readAnswer, readVersion } from './answer.ts'

describe('the answer to INSTREAM', () => {
  it.each([
    ['stream: OK', { kind: 'clean' }],
    ['17: stream: OK', { kind: 'clean' }],
    ['stream: Win.Test.EICAR_HDB-1 FOUND', { kind: 'found', signature: 'Win.Test.EICAR_HDB-1' }],
    ['3: stream: Own.Sig.UNOFFICIAL FOUND', { kind: 'found', signature: 'Own.Sig.UNOFFICIAL' }],
    ['stream: Eicar(44d88612fea8a8f36de82e1278abb02f:68) FOUND', { kind: 'found', signature: 'Eicar' }],
  ])('%s', (text, meaning) => {
    expect(readAnswer(text)).toEqual(meaning)
  })

  it.each(['INSTREAM size limit exceeded. ERROR', '2: INSTREAM size limit exceeded. ERROR'])(
    '%s is a limit, neither clean nor infected',
    (text) => {
      expect(readAnswer(text).kind).toBe('limited')
    },
  )

  it.each([
    ['Limits.Exceeded', 'limited'],
    ['Limits.Exceeded.MaxFileSize', 'limited'],
    ['Limits.Exceeded.MaxRecursion', 'limited'],
    ['Limits.Exceeded.EmailHeaders', 'limited'],
    ['XZ.DicSizeLimit', 'limited'],
    ['Encrypted.Zip', 'limited'],
    ['Encrypted.7Zip', 'limited'],
    ['Encrypted.RAR', 'limited'],
    ['Encrypted.EGG', 'limited'],
    ['Encrypted.PDF', 'limited'],
    ['Encrypted.OLE2', 'limited'],
    ['Broken.Executable', 'limited'],
    ['Broken.Media.JPEG.NoImages', 'limited'],
    ['Broken.Media.TIFF.OutOfBoundsAccess', 'limited'],
    ['Zip.OverlappingFiles', 'found'],
    ['OLE2.ContainsMacros.VBA', 'found'],
    ['PDF.ObfuscatedNameObject', 'found'],
    ['MBRPartitionnIntersect', 'found'],
    ['GPTPartitionIntersection', 'found'],
    ['APMPartitionIntersection', 'found'],
    ['Phishing.Email.SpoofedDomain', 'found'],
    ['Phishing.URL.Blocked', 'found'],
    ['Safebrowsing.Suspected-malware_safebrowsing.clamav.net', 'found'],
    ['Structured.CreditCardNumber', 'found'],
    ['Exploit.W32.MS05-002', 'found'],
    ['BoundsCheck', 'found'],
    ['Trojan.Swizzor.Gen', 'found'],
    ['BrokenByNature', 'found'],
  ])('Heuristics.%s is %s', (name, kind) => {
    expect(readAnswer(`stream: Heuristics.${name} FOUND`).kind).toBe(kind)
  })

  it.each([
    ["stream: Can't allocate memory ERROR", "Can't allocate memory"],
    ['COMMAND READ TIMED OUT', 'COMMAND READ TIMED OUT'],
    ['UNKNOWN COMMAND', 'UNKNOWN COMMAND'],
    ['OK', 'OK'],
    ['stream: OK FOUND OK', 'OK FOUND OK'],
    ['', 'empty answer'],
  ])('%s is a failure, never clean', (text, reason) => {
    expect(readAnswer(text)).toEqual({ kind: 'failed', reason })
  })
})

describe('the version', () => {
  it.each([
    [
      'ClamAV 1.4.6/27000/Tue Nov 18 09:26:00 2025',
      { version: '1.4.6', dbVersion: '27000', dbDate: '2025-11-18T09:26:00.000+00:00' },
    ],
    [
      'ClamAV 1.0.9/27831/Sat Nov  1 23:59:09 2025',
      { version: '1.0.9', dbVersion: '27831', dbDate: '2025-11-01T23:59:09.000+00:00' },
    ],
    ['ClamAV 1.4.6', { version: '1.4.6', dbVersion: null, dbDate: null }],
    ['ClamAV 1.5.0-rc/27000/yesterday', { version: '1.5.0-rc', dbVersion: '27000', dbDate: null }],
    ['COMMAND UNAVAILABLE', null],
    ['', null],
  ])('%s', (text, version) => {
    expect(readVersion(text)).toEqual(version)
  })
})
