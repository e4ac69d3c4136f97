// What grype 0.110 really wrote for five packages, against a database made by test/gate/grype-db; settings and paths left out.

export const RECORDED = {
  rocky: {
    matches: [
      {
        vulnerability: {
          id: 'CVE-2026-1',
          dataSource: 'https://example.org/a',
          namespace: 'redhat:distro:redhat:9',
          severity: 'High',
          urls: [],
          description: 'a hole',
          cvss: [
            {
              source: 'nvd@nist.gov',
              type: 'Secondary',
              version: '3.1',
              vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N',
              metrics: {
                baseScore: 7.5,
                exploitabilityScore: 3.9,
                impactScore: 3.6,
              },
              vendorMetadata: {},
            },
          ],
          knownExploited: [
            {
              cve: 'CVE-2026-1',
              knownRansomwareCampaignUse: '',
            },
          ],
          fix: {
            versions: ['2.0-1'],
            state: 'fixed',
          },
          advisories: [],
          risk: 78.75000000000001,
        },
        relatedVulnerabilities: [
          {
            id: 'CVE-2026-1',
            dataSource: 'nvd',
            namespace: 'nvd:cpe',
            severity: 'Unknown',
            urls: [],
            cvss: [],
          },
        ],
        matchDetails: [
          {
            type: 'exact-direct-match',
            matcher: 'rpm-matcher',
            searchedBy: {
              distro: {
                type: 'rockylinux',
                version: '9',
              },
              package: {
                name: 'high',
                version: '0:1.0-1',
              },
              namespace: 'redhat:distro:redhat:9',
            },
            found: {
              vulnerabilityID: 'CVE-2026-1',
              versionConstraint: '< 2.0-1 (rpm)',
            },
            fix: {
              suggestedVersion: '2.0-1',
            },
          },
        ],
        artifact: {
          id: 'package',
          name: 'high',
          version: '1.0-1',
          type: 'rpm',
          locations: null,
          language: '',
          licenses: [],
          cpes: [],
          purl: 'pkg:rpm/rockylinux/high@1.0-1?arch=x86_64&distro=rockylinux-9',
          upstreams: [],
        },
      },
    ],
    distro: {
      name: 'rockylinux',
      version: '9',
      idLike: ['rockylinux'],
    },
    descriptor: {
      name: 'grype',
      version: '0.110.0',
      db: {
        status: {
          schemaVersion: 'v6.1.4',
          from: 'manual import',
          built: '2026-11-21T15:44:13Z',
          valid: true,
        },
      },
    },
  },
  oracle: {
    matches: [
      {
        vulnerability: {
          id: 'ELSA-2026-1',
          dataSource: 'https://example.org/e',
          namespace: 'oracle:distro:oraclelinux:8',
          severity: 'Medium',
          urls: [],
          description: 'an advisory',
          cvss: [],
          knownExploited: [
            {
              cve: 'CVE-2026-1',
              knownRansomwareCampaignUse: '',
            },
          ],
          fix: {
            versions: ['2.0-1'],
            state: 'fixed',
          },
          advisories: [],
          risk: 52.5,
        },
        relatedVulnerabilities: [
          {
            id: 'CVE-2026-1',
            dataSource: 'nvd',
            namespace: 'nvd:cpe',
            severity: 'Unknown',
            urls: [],
            cvss: [],
          },
          {
            id: 'CVE-2026-2',
            dataSource: 'nvd',
            namespace: 'nvd:cpe',
            severity: 'Unknown',
            urls: [],
            cvss: [],
          },
        ],
        matchDetails: [
          {
            type: 'exact-direct-match',
            matcher: 'rpm-matcher',
            searchedBy: {
              distro: {
                type: 'oraclelinux',
                version: '8',
              },
              package: {
                name: 'high',
                version: '0:1.0-1',
              },
              namespace: 'oracle:distro:oraclelinux:8',
            },
            found: {
              vulnerabilityID: 'ELSA-2026-1',
              versionConstraint: '< 2.0-1 (rpm)',
            },
            fix: {
              suggestedVersion: '2.0-1',
            },
          },
        ],
        artifact: {
          id: 'package',
          name: 'high',
          version: '1.0-1',
          type: 'rpm',
          locations: null,
          language: '',
          licenses: [],
          cpes: [],
          purl: 'pkg:rpm/oraclelinux/high@1.0-1?arch=x86_64&distro=oraclelinux-8',
          upstreams: [],
        },
      },
    ],
    distro: {
      name: 'oraclelinux',
      version: '8',
      idLike: ['oraclelinux'],
    },
    descriptor: {
      name: 'grype',
      version: '0.110.0',
      db: {
        status: {
          schemaVersion: 'v6.1.4',
          from: 'manual import',
          built: '2026-11-21T15:44:13Z',
          valid: true,
        },
      },
    },
  },
  ubuntu: {
    matches: [
      {
        vulnerability: {
          id: 'CVE-2026-3',
          dataSource: '',
          namespace: 'ubuntu:distro:ubuntu:22.04',
          severity: 'Negligible',
          urls: [],
          description: 'x',
          cvss: [],
          fix: {
            versions: [],
            state: 'wont-fix',
          },
          advisories: [],
          risk: 0,
        },
        relatedVulnerabilities: [
          {
            id: 'CVE-2026-3',
            dataSource: 'nvd',
            namespace: 'nvd:cpe',
            severity: 'Unknown',
            urls: [],
            cvss: [],
          },
        ],
        matchDetails: [
          {
            type: 'exact-indirect-match',
            matcher: 'dpkg-matcher',
            searchedBy: {
              distro: {
                type: 'ubuntu',
                version: '22.04',
              },
              package: {
                name: 'src',
                version: '1:1.0-1',
              },
              namespace: 'ubuntu:distro:ubuntu:22.04',
            },
            found: {
              vulnerabilityID: 'CVE-2026-3',
              versionConstraint: '< 1:2.0-1 (deb)',
            },
          },
        ],
        artifact: {
          id: 'package',
          name: 'part',
          version: '1:1.0-1',
          type: 'deb',
          locations: null,
          language: '',
          licenses: [],
          cpes: [],
          purl: 'pkg:deb/ubuntu/part@1%3A1.0-1?arch=amd64&distro=ubuntu-22.04&upstream=src%401%3A1.0-1',
          upstreams: [
            {
              name: 'src',
              version: '1:1.0-1',
            },
          ],
        },
      },
    ],
    distro: {
      name: 'ubuntu',
      version: '22.04',
      idLike: ['ubuntu'],
    },
    descriptor: {
      name: 'grype',
      version: '0.110.0',
      db: {
        status: {
          schemaVersion: 'v6.1.4',
          from: 'manual import',
          built: '2026-11-21T15:44:13Z',
          valid: true,
        },
      },
    },
  },
  alpine: {
    matches: [
      {
        vulnerability: {
          id: 'CVE-2026-4',
          dataSource: '',
          namespace: 'alpine:distro:alpine:3.21',
          severity: 'Unknown',
          urls: [],
          description: 'no severity',
          cvss: [],
          fix: {
            versions: ['2.0-r1'],
            state: 'fixed',
          },
          advisories: [],
          risk: 0,
        },
        relatedVulnerabilities: [
          {
            id: 'CVE-2026-4',
            dataSource: 'nvd',
            namespace: 'nvd:cpe',
            severity: 'Unknown',
            urls: [],
            cvss: [],
          },
        ],
        matchDetails: [
          {
            type: 'exact-indirect-match',
            matcher: 'apk-matcher',
            searchedBy: {
              distro: {
                type: 'alpine',
                version: '3.21',
              },
              package: {
                name: 'src',
                version: '1.0-r1',
              },
              namespace: 'alpine:distro:alpine:3.21',
            },
            found: {
              vulnerabilityID: 'CVE-2026-4',
              versionConstraint: '< 2.0-r1 (apk)',
            },
            fix: {
              suggestedVersion: '2.0-r1',
            },
          },
        ],
        artifact: {
          id: 'package',
          name: 'part',
          version: '1.0-r1',
          type: 'apk',
          locations: null,
          language: '',
          licenses: [],
          cpes: [],
          purl: 'pkg:apk/alpine/part@1.0-r1?arch=x86_64&distro=alpine-3.21&upstream=src%401.0-r1',
          upstreams: [
            {
              name: 'src',
              version: '1.0-r1',
            },
          ],
        },
      },
    ],
    distro: {
      name: 'alpine',
      version: '3.21',
      idLike: ['alpine'],
    },
    descriptor: {
      name: 'grype',
      version: '0.110.0',
      db: {
        status: {
          schemaVersion: 'v6.1.4',
          from: 'manual import',
          built: '2026-11-21T15:44:13Z',
          valid: true,
        },
      },
    },
  },
  fedora: {
    matches: [],
    distro: {
      name: 'fedora',
      version: '42',
      idLike: ['fedora'],
    },
    descriptor: {
      name: 'grype',
      version: '0.110.0',
      db: {
        status: {
          schemaVersion: 'v6.1.4',
          from: 'manual import',
          built: '2026-11-21T15:44:13Z',
          valid: true,
        },
      },
    },
  },
} as const
