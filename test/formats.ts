// The formats for which the suites have samples. The product has no such list except that of its plug-ins.

export type FormatId = 'deb' | 'rpm' | 'apk'
