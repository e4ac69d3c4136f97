// How set-up scripts of private distributions write the token of a machine into files of its package manager.

/** Stands for the token in files that are shown to people. */
export const TOKEN_MARK = '<token>'
/** With Basic the name is free; this one says in logs of proxies what it is. */
export const LOGIN = 'machine'

/** Shell lines that take the token from the environment. The script goes on only with a text that is safe in every file. */
export const NEEDS_TOKEN = `case \${GATEHOUSE_TOKEN-} in
'' | *[!A-Za-z0-9_-]*) echo 'GATEHOUSE_TOKEN must be the token of this machine' >&2; exit 1 ;;
esac
umask 077
`

/** Shell lines that put the token in place of its mark. */
export const withToken = (path: string) => `sed -i "s|${TOKEN_MARK}|$GATEHOUSE_TOKEN|" ${path}\n`

/** Downloads and runs a script with the token of the variable GATEHOUSE_TOKEN, which no list of processes shows. */
export const runSignedIn = (scriptUrl: string) =>
  `printf 'user = "${LOGIN}:%s"' "$GATEHOUSE_TOKEN" | curl -fsSL -K - ${scriptUrl} | sudo --preserve-env=GATEHOUSE_TOKEN sh`
