// The endpoints below `/auth/device`. Each handler is one call to `accounts`.
import type { DeviceSignIn } from '../../accounts/device-sign-in.ts'
import { handle, type Route } from '../http/route.ts'
import {
  getAuthDeviceUserCode,
  postAuthDevice,
  postAuthDeviceToken,
  postAuthDeviceUserCode,
} from './device.contract.ts'

export interface DeviceDeps {
  deviceSignIn: DeviceSignIn
}

export function deviceRoutes({ deviceSignIn }: DeviceDeps): Route[] {
  return [
    handle(postAuthDevice, ({ body, origin }) => deviceSignIn.begin(body.client, origin)),
    handle(postAuthDeviceToken, ({ body, origin }) => deviceSignIn.redeem(body.device_code, origin)),
    handle(getAuthDeviceUserCode, ({ caller, params }) => deviceSignIn.look(caller, params.user_code)),
    handle(postAuthDeviceUserCode, ({ caller, params, body, origin }) =>
      deviceSignIn.answer(caller, params.user_code, body.approve, origin),
    ),
  ]
}
