// What trivy 0.68.2 really wrote for packages of six distributions, against a database made by test/gate/trivy-db; times, paths
// and fingerprints left out. And such a database.
import { gunzipSync } from 'node:zlib'

export const RECORDED = {
  rocky: {
    SchemaVersion: 2,
    ArtifactType: 'cyclonedx',
    Metadata: { OS: { Family: 'rocky', Name: '9' } },
    Results: [
      {
        Target: 'rocky9.cdx.json (rocky 9)',
        Class: 'os-pkgs',
        Type: 'rocky',
        Packages: [
          {
            ID: 'high@1.0-1',
            Name: 'high',
            Identifier: { PURL: 'pkg:rpm/rocky/high@1.0-1?arch=x86_64&distro=rocky-9', BOMRef: 'package' },
            Version: '1.0',
            Release: '1',
            Arch: 'x86_64',
            SrcName: 'high',
            SrcVersion: '1.0',
            SrcRelease: '1',
          },
        ],
        Vulnerabilities: [
          {
            VulnerabilityID: 'CVE-2026-0001',
            PkgID: 'high@1.0-1',
            PkgName: 'high',
            PkgIdentifier: { PURL: 'pkg:rpm/rocky/high@1.0-1?arch=x86_64&distro=rocky-9', BOMRef: 'package' },
            InstalledVersion: '1.0-1',
            FixedVersion: '2.0-1',
            Status: 'fixed',
            SeveritySource: 'rocky',
            PrimaryURL: 'https://avd.aquasec.com/nvd/cve-2026-0001',
            DataSource: { ID: 'rocky', Name: 'rocky 9', URL: 'https://example.org' },
            Title: 'a hole in high',
            Description: 'Somebody can reach through high.',
            Severity: 'HIGH',
            VendorSeverity: { rocky: 3 },
            CVSS: { nvd: { V3Vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N', V3Score: 7.5 } },
            References: ['https://example.org/a', 'https://example.org/b'],
          },
        ],
      },
    ],
  },
  centos: {
    SchemaVersion: 2,
    ArtifactType: 'cyclonedx',
    Metadata: { OS: { Family: 'centos', Name: '9' } },
    Results: [
      {
        Target: 'centos-stream9.cdx.json (centos 9)',
        Class: 'os-pkgs',
        Type: 'centos',
        Packages: [
          {
            ID: 'high@1.0-1',
            Name: 'high',
            Identifier: { PURL: 'pkg:rpm/centos/high@1.0-1?arch=x86_64&distro=centos-9', BOMRef: 'package' },
            Version: '1.0',
            Release: '1',
            Arch: 'x86_64',
            SrcName: 'high',
            SrcVersion: '1.0',
            SrcRelease: '1',
          },
        ],
        Vulnerabilities: [
          {
            VulnerabilityID: 'CVE-2026-0002',
            VendorIDs: ['RHSA-2026:0001'],
            PkgID: 'high@1.0-1',
            PkgName: 'high',
            PkgIdentifier: { PURL: 'pkg:rpm/centos/high@1.0-1?arch=x86_64&distro=centos-9', BOMRef: 'package' },
            InstalledVersion: '1.0-1',
            FixedVersion: '2.0-1',
            Status: 'fixed',
            SeveritySource: 'redhat',
            PrimaryURL: 'https://avd.aquasec.com/nvd/cve-2026-0002',
            Title: 'a hole in high',
            Description: 'Somebody can reach through high.',
            Severity: 'CRITICAL',
            VendorSeverity: { redhat: 4 },
            CVSS: { nvd: { V3Vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N', V3Score: 7.5 } },
            References: ['https://example.org/a', 'https://example.org/b'],
          },
          {
            VulnerabilityID: 'CVE-2026-0003',
            VendorIDs: ['RHSA-2026:0001'],
            PkgID: 'high@1.0-1',
            PkgName: 'high',
            PkgIdentifier: { PURL: 'pkg:rpm/centos/high@1.0-1?arch=x86_64&distro=centos-9', BOMRef: 'package' },
            InstalledVersion: '1.0-1',
            FixedVersion: '2.0-1',
            Status: 'fixed',
            SeveritySource: 'redhat',
            PrimaryURL: 'https://avd.aquasec.com/nvd/cve-2026-0003',
            Title: 'a hole in high',
            Description: 'Somebody can reach through high.',
            Severity: 'CRITICAL',
            VendorSeverity: { redhat: 4 },
            CVSS: { nvd: { V3Vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N', V3Score: 7.5 } },
            References: ['https://example.org/a', 'https://example.org/b'],
          },
          {
            VulnerabilityID: 'CVE-2026-0004',
            PkgID: 'high@1.0-1',
            PkgName: 'high',
            PkgIdentifier: { PURL: 'pkg:rpm/centos/high@1.0-1?arch=x86_64&distro=centos-9', BOMRef: 'package' },
            InstalledVersion: '1.0-1',
            Status: 'will_not_fix',
            SeveritySource: 'redhat',
            PrimaryURL: 'https://avd.aquasec.com/nvd/cve-2026-0004',
            Title: 'a hole in high',
            Description: 'Somebody can reach through high.',
            Severity: 'LOW',
            VendorSeverity: { redhat: 1 },
            CVSS: { nvd: { V3Vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N', V3Score: 7.5 } },
            References: ['https://example.org/a', 'https://example.org/b'],
          },
        ],
      },
    ],
  },
  leap: {
    SchemaVersion: 2,
    ArtifactType: 'cyclonedx',
    Metadata: { OS: { Family: 'opensuse-leap', Name: '15.6', EOSL: true } },
    Results: [
      {
        Target: 'opensuse-leap-15.6.cdx.json (opensuse-leap 15.6)',
        Class: 'os-pkgs',
        Type: 'opensuse-leap',
        Packages: [
          {
            ID: 'high@1.0-1',
            Name: 'high',
            Identifier: {
              PURL: 'pkg:rpm/opensuse-leap/high@1.0-1?arch=x86_64&distro=opensuse-leap-15.6',
              BOMRef: 'package',
            },
            Version: '1.0',
            Release: '1',
            Arch: 'x86_64',
            SrcName: 'high',
            SrcVersion: '1.0',
            SrcRelease: '1',
          },
        ],
        Vulnerabilities: [
          {
            VulnerabilityID: 'openSUSE-SU-2026:0001-1',
            PkgID: 'high@1.0-1',
            PkgName: 'high',
            PkgIdentifier: {
              PURL: 'pkg:rpm/opensuse-leap/high@1.0-1?arch=x86_64&distro=opensuse-leap-15.6',
              BOMRef: 'package',
            },
            InstalledVersion: '1.0-1',
            FixedVersion: '2.0-1',
            Status: 'fixed',
            SeveritySource: 'suse-cvrf',
            PrimaryURL: 'https://lists.opensuse.org/x/',
            DataSource: { ID: 'suse-cvrf', Name: 'openSUSE Leap 15.6', URL: 'https://example.org' },
            Title: 'a hole in high',
            Description: 'Somebody can reach through high.',
            Severity: 'MEDIUM',
            VendorSeverity: { 'suse-cvrf': 2 },
            CVSS: { nvd: { V3Vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N', V3Score: 7.5 } },
            References: [
              'https://lists.opensuse.org/x/',
              'https://bugzilla.suse.com/1',
              'https://www.suse.com/security/cve/CVE-2026-0005/',
              'https://www.suse.com/security/cve/CVE-2026-0006/',
            ],
          },
        ],
      },
    ],
  },
  ubuntu: {
    SchemaVersion: 2,
    ArtifactType: 'cyclonedx',
    Metadata: { OS: { Family: 'ubuntu', Name: '22.04' } },
    Results: [
      {
        Target: 'ubsrc.cdx.json (ubuntu 22.04)',
        Class: 'os-pkgs',
        Type: 'ubuntu',
        Packages: [
          {
            ID: 'part@5.0-1',
            Name: 'part',
            Identifier: { PURL: 'pkg:deb/ubuntu/part@5.0-1?arch=amd64&distro=ubuntu-22.04', BOMRef: 'package' },
            Version: '5.0-1',
            Arch: 'amd64',
            SrcName: 'src',
            SrcVersion: '1.0',
            SrcRelease: '1',
          },
        ],
        Vulnerabilities: [
          {
            VulnerabilityID: 'CVE-2026-0007',
            PkgID: 'part@5.0-1',
            PkgName: 'part',
            PkgIdentifier: { PURL: 'pkg:deb/ubuntu/part@5.0-1?arch=amd64&distro=ubuntu-22.04', BOMRef: 'package' },
            InstalledVersion: '5.0-1',
            Status: 'affected',
            PrimaryURL: 'https://avd.aquasec.com/nvd/cve-2026-0007',
            DataSource: { ID: 'ubuntu', Name: 'ubuntu 22.04', URL: 'https://example.org' },
            Title: 'a hole in src',
            Description: 'Somebody can reach through src.',
            Severity: 'UNKNOWN',
            References: ['https://example.org/a', 'https://example.org/b'],
          },
        ],
      },
    ],
  },
  debianFixed: {
    SchemaVersion: 2,
    ArtifactType: 'cyclonedx',
    Metadata: { OS: { Family: 'debian', Name: '12' } },
    Results: [
      {
        Target: 'debfixed.cdx.json (debian 12)',
        Class: 'os-pkgs',
        Type: 'debian',
        Packages: [
          {
            ID: 'high@2.0-1',
            Name: 'high',
            Identifier: { PURL: 'pkg:deb/debian/high@2.0-1?arch=amd64&distro=debian-12', BOMRef: 'package' },
            Version: '2.0-1',
            Arch: 'amd64',
            SrcName: 'high',
            SrcVersion: '2.0',
            SrcRelease: '1',
          },
        ],
      },
    ],
  },
  focal: {
    SchemaVersion: 2,
    ArtifactType: 'cyclonedx',
    Metadata: { OS: { Family: 'ubuntu', Name: '20.04', EOSL: true } },
    Results: [
      {
        Target: 'focal.cdx.json (ubuntu 20.04)',
        Class: 'os-pkgs',
        Type: 'ubuntu',
        Packages: [
          {
            ID: 'high@1.0-1',
            Name: 'high',
            Identifier: { PURL: 'pkg:deb/ubuntu/high@1.0-1?arch=amd64&distro=ubuntu-20.04', BOMRef: 'package' },
            Version: '1.0-1',
            Arch: 'amd64',
            SrcName: 'high',
            SrcVersion: '1.0',
            SrcRelease: '1',
          },
        ],
      },
    ],
  },
  fedora: { SchemaVersion: 2, ArtifactType: 'cyclonedx', Metadata: { OS: { Family: 'fedora', Name: '42' } } },
}

/** Its buckets: `debian 12`, `openSUSE Leap 15.6`, `Red Hat`, `rocky 9`, `ubuntu 22.04` and what is about them. */
export const DATABASE = gunzipSync(
  Buffer.from(
    [
      'H4sIAAAAAAACA+3db2/bRBzA8STt/ndQjQebkJAiI/EANXGT/tlmBCjKCi10o2uW8KAqk+NcG4vUjmwnbaki7Rk8QCDxDJ4iXgMST3jGi+AlIO',
      '09cI4v/9y0ayXadeP7kVz77PPl8oua+s7nayIRmVTr539PPU+FG9NR+kZi1JRa31TrlFq/u//HzcaN6XwCAAAAAABcOMkXtP8nYvlTsfy9899c',
      '3n/89sLqe0QUAAAAAICLp9eenyYUAAAAAAC8tiZi/QAAAAAAAOD1M9lv/0cj+cOf02r/D3Kp29v1o85N9Uf/R+eEcwI8lkuxspTJz+YXM7Ozs7',
      'kD7RN7T9QqwvNt19EMLZ+dzeS0GW3JCTxb+JqxcaAVPKve3dT27i0+XZzXNmfGn9bZ7PCZAQAAAABwWpf6bflUv/2fTkTjAjZU2pHLdbmsycVq',
      'ipN2B4Sp9+WS0+RJhu4anqjVzcAQTiC8pmf74mnDdlp7xn3DqJq+cH3NE03XtwPX2z/pi7yj6urVRSNzP7PlepmoCyETFZnxmjv+Rm6TTxoAAA',
      'AA8H92OdauHr7/v5h80f3/wVMDYZ9BeP+/oNJfyeUNufySGB0PMH8wcuO/2FYbJdEWnh3sa0auszmjFba2hBWImjyWk8lSYAYtmXGhs9lZXy4V',
      'usUZ0fCC4eKOGGrQf5WVB3LvcHXy8ujgpec7M2PyzMXyhNUbM15hpMqMUwAAAAAAXChXjmn/P02cbvz/bbnckYvbFE6pXFrKlMqDhnrmqCcBaC',
      'gDAAAAAHDWrh7R/g/H1H8sF9+zTtr8v5mIphEcvnd+94DmPQAAAAAAL921I9r/4f3/cuL08//diXUA3OOuPwAAAAAAL931flv+an/fM9WWv6Wa',
      '9z8mo/Rtlf41NZr+fWI0/1+TUfo7Vd7nl6L0W+r4xuVoboDe+c0r0bMD3ycP/e+AJ3bQEJqhmem62xBp20mHHRLajPZA+JZnN4OoT6Hk7oiqW9',
      'tPW6aT9oRp1dNB3XNb2/Vu/uzIE/za8sqny3JPRTg11xvsP9A81/pabsx1ZrRipVQKdzntWriqzFWEFbhed2qAUsmYy+b0QsV4pBeKxqq+ti63',
      'yivyR8ko60VjWQ+3C8aj8FXmSpbryfdwN7vQkQWviy3hCceKpg+oB0HTN3Rd7Jk7zYbIut62bsqzxu2vapudkbkLzig8xfWVJyvFwur4EHXncO',
      'xOlfAqxGiOGL0wRvNnFKPVL748Njy5VyM8d8eFx/es00RHZg+D899V6t55fzXWRNU2nQv93RifGIZf/DFBOvLZvDOJ1sOlByvlh2Nj5bd8kbHa',
      '3pZm5M8/XA3bD/xsGIywHt3o7OlDYau2tr+xGw0z2z1suTt6bujo7u7u4IAvrFb4pnSrLfTh39EF/dSnLOoaEwcBAM7BjVj7P6na/+G8AL1J/L',
      '9V+Xrpn1T6n2SU3k1F4wh6x5/J9K3h/KnR8n6W6amh9G+qPyFMr4taetkMLseqqXani2tLl2KHamZgZny35VnH/GeCwUlr6s31JioMOynCyn+k',
      '0n8mosp/1gtQMsr/gUp/mIwqXxjUSs0ZGF39Zdy22ZB/+B+ZO+HllMoid5TXV2V6zHWZ1okurtO5vCpJXWz3C+kfP76Y3rVdelWYzXRuIbuoyh',
      'tca/WLPJz3+LK7XSPp+7232u0o6RemDh5fQqvacoJWOp/Phi3ObjHRrkE5w1lOGLFrsY/68Pu6EsuhKjsZ2z382ldjx9qthiM8s2o35EXbdb40',
      'AAAAALySptR6Ws3l35vRf4LQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABwbv4FJXcbhAAAAQA=',
    ].join(''),
    'base64',
  ),
)

/** The end of what it wrote to stderr of a file that is no database, where it was asked to tell everything; shortened. */
export const FATAL = `2026-11-21T18:29:02Z\tFATAL\tFatal error
  - run error:
    github.com/aquasecurity/trivy/pkg/commands/artifact.Run
        github.com/aquasecurity/trivy@v0.68.2/pkg/commands/artifact/run.go:407
  - error in vulnerability DB initialize:
    github.com/aquasecurity/trivy/pkg/commands/artifact.(*runner).initDB
        github.com/aquasecurity/trivy@v0.68.2/pkg/commands/artifact/run.go:342
  - Oops: failed to open db: invalid database
    Time: 2026-11-21 18:29:02.988326454 +0000 UTC
    Context:
      * database: bbolt
    Stacktrace:
      Oops: failed to open db
        --- at github.com/aquasecurity/trivy/pkg/db/db.go:45 Init()
        --- at github.com/spf13/cobra@v1.10.1/command.go:1071 Command.Execute()
`
