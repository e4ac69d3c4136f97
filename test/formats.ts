// The formats that the suites have samples of. The product knows no such list but that of its plug-ins.

export type FormatId = 'deb' | 'rpm' | 'apk'
