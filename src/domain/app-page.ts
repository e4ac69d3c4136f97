/** The address of a page of the console, as people and other servers reach it: `path` below the setting `app_url`. */
export function appPage(appUrl: string, path: `/${string}`): string {
  return `${appUrl.replace(/\/+$/, '')}${path}`
}
