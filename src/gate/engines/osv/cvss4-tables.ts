// The tables of CVSS v4.0: MacroVector scores, highest vectors and depths. Data only.
// https://www.first.org/cvss/v4.0/specification-document (section 8.2 and the appendix it names)

/**
 * Scores in tenths by MacroVector. Key: the digits of EQ1, EQ2, EQ3 and EQ6; the nine numbers are EQ4 0-2, each with
 * EQ5 0-2.
 */
export const MACRO_SCORES: Readonly<Record<string, string>> = {
  '0000': '100 98 95 100 93 91 93 89 81',
  '0001': '99 95 92 96 87 81 90 80 68',
  '0010': '98 95 90 93 89 81 88 78 69',
  '0011': '95 92 84 92 81 65 80 70 48',
  '0021': '92 82 72 79 69 50 69 55 27',
  '0100': '99 95 92 95 90 84 92 82 72',
  '0101': '97 92 85 91 83 71 81 71 53',
  '0110': '95 92 85 92 80 70 84 71 50',
  '0111': '93 85 73 82 72 59 70 52 30',
  '0121': '86 75 52 71 52 29 63 29 17',
  '1000': '98 94 91 94 86 77 87 74 63',
  '1001': '95 87 81 89 74 64 75 63 49',
  '1010': '94 88 76 86 74 59 72 57 52',
  '1011': '89 77 67 76 58 50 57 52 25',
  '1021': '83 70 54 65 58 26 53 21 13',
  '1100': '95 88 76 90 75 61 77 68 52',
  '1101': '90 76 70 77 62 53 66 59 30',
  '1110': '89 76 62 74 57 47 61 57 24',
  '1111': '78 67 58 59 57 23 52 29 16',
  '1121': '71 59 30 58 26 15 23 13 6',
  '2000': '93 86 75 86 74 56 70 52 40',
  '2001': '87 72 58 74 61 34 54 40 22',
  '2010': '85 74 62 72 55 46 53 34 19',
  '2011': '75 55 51 57 41 19 36 19 8',
  '2021': '64 51 20 47 21 11 24 9 4',
  '2100': '88 73 60 73 59 41 54 45 20',
  '2101': '75 53 50 55 40 20 43 22 11',
  '2110': '75 58 40 61 48 20 46 17 8',
  '2111': '55 45 21 51 18 9 18 7 2',
  '2121': '53 24 14 24 12 5 10 3 1',
}

/** Metrics of each equivalence set; levels count steps below the metric's highest value. */
export const SETS = {
  eq1: ['AV', 'PR', 'UI'],
  eq2: ['AC', 'AT'],
  eq3: ['VC', 'VI', 'VA', 'CR', 'IR', 'AR'],
  eq4: ['SC', 'SI', 'SA'],
} as const

/** Metric values from the highest level down. */
export const LEVELS: Readonly<Record<string, string>> = {
  AV: 'NALP',
  PR: 'NLH',
  UI: 'NPA',
  AC: 'LH',
  AT: 'NP',
  VC: 'HLN',
  VI: 'HLN',
  VA: 'HLN',
  CR: 'HML',
  IR: 'HML',
  AR: 'HML',
  SC: 'SHLN',
  SI: 'SHLN',
  SA: 'SHLN',
}

/** The highest vectors of each level of a set, as levels of its metrics, in the order they are tried. */
export const HIGHEST: Readonly<Record<keyof typeof SETS, Readonly<Record<string, readonly string[]>>>> = {
  eq1: { 0: ['000'], 1: ['100', '010', '001'], 2: ['300', '111'] },
  eq2: { 0: ['00'], 1: ['10', '01'] },
  eq3: {
    '00': ['000000'],
    '01': ['001110', '000111'],
    '10': ['100000', '010000'],
    '11': ['101010', '100011', '010101', '011100', '110001'],
    '21': ['111000'],
  },
  eq4: { 0: ['100'], 1: ['111'], 2: ['222'] },
}

/** How many steps a level of a set is deep. */
export const DEPTHS: Readonly<Record<keyof typeof SETS, Readonly<Record<string, number>>>> = {
  eq1: { 0: 1, 1: 4, 2: 5 },
  eq2: { 0: 1, 1: 2 },
  eq3: { '00': 7, '01': 6, '10': 8, '11': 8, '21': 10 },
  eq4: { 0: 6, 1: 5, 2: 4 },
}
