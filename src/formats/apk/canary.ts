// The data of this format for the scanners' self-tests. Made by the builders of test/samples.
import type { Canary } from '../ecosystem.ts'

export const canary: Canary = {
  // A pre-release of 0
  lowestVersion: '0_alpha',
  infectedPackage:
    'H4sIAAAAAAAAA82Ry07DMBBFu/ZXjMSadpI4cYoaxApUoUIl+IHxI2nUvGS7CPh65JaoBbEtcDdj37HPHWmm6/u75cPt4+SMQkTMON9XRPxeMU' +
    '3TScTTmAuBfO8LTOMJ4DmHGrVznizAb0T9R11AS9pA2VvwxnnHhm3VUWugAEUd2bdgvBgLBUSXFsNNG6egAAJH7dAYGEhtqTJsZxsoYOP94K5m' +
    'M/O67057W80OD5nc1Y3W5AM8EuP22ef/EPF0IK5HZzH2bk5w18zV74HBcZ4xsmoDBXR9OLDe1lXdHYdvqe481d0pfXX0FofJvtKbWpnOhYDV8p' +
    'lp8rQhFzJkFEdESTnPBEljBMpcyCzBOMFc54nKhJElGhUrLWQu58JwFEkSaSGTUhjO/nrZP+gDYtaiTAAEAAAfiwgAAAAAAAAD7ZRNa8JAEEBz' +
    '7q+IYKG2RGc3+xEPhS5qSaiYkKRF2lJY44rQWkrWgB7634teCtoeUkwsuO8yy1xmhjezhc47VsUAAHBKtxEAduP2jQjFhHMg2zyjDCybVt3Yhk' +
    'IvZW7bdZT6jxQ67+i5zFWFW1DeP2cMG/918O0/k+8yX1exBqX9I4RcbvzXQSRXvpJTleuOlouPN1VBjY1gRsiv/hGQXf8uYMteVdDLHifun3m2' +
    'iO6cNAyHSTubq+xVF4t24gt07bpd6lGWKQ/N8IS7Hp4qxTEDPONdb8IIniGCCJwdewbD39n7/5dKLw9co/z9Y3CJZcOB+/iRE7//MQ0b0fmNiJ' +
    '7Ic/Q4puQiemnxXq/FP5uDoCdiJ0nFqC/iviNGafAQxPeJkw6S1LkNhoNG07/yL489g8FgMBjK8wWt7w+kABIAAA==',
}
