// The data of this format for the scanners' self-tests. Made by the builders of test/samples.
import type { Canary } from '../ecosystem.ts'

export const canary: Canary = {
  // A tilde sorts before everything, deb-version(7)
  lowestVersion: '0~~',
  infectedPackage:
    'ITxhcmNoPgpkZWJpYW4tYmluYXJ5ICAgMCAgICAgICAgICAgMCAgICAgMCAgICAgMTAwNjQ0ICA0ICAgICAgICAgYAoyLjAKY29udHJvbC50YX' +
    'IuZ3ogIDAgICAgICAgICAgIDAgICAgIDAgICAgIDEwMDY0NCAgMjc1ICAgICAgIGAKH4sIAAAAAAAAA+2RQUsDMRSE95xf8f6AaXab7UIQUfDS' +
    'g1JY8P6Iz20wTZbkFVp/vTQFhYLH1YL7XSYMITNk5KKaHKWU6tq2qFLqUsu51m2ju07p4q9qpStop69WVfvMmAB+I+oakQsbA6foJ8w4DbzS+s' +
    'f9l8vmYv+uVW0FasJOX/zz/Tdo33EgAxYDpqN4oZRdDAZq8ZDs1jFZ3icygN6LJ3SB0QVKBnrcjZ7g24LbXKx7OhSVMQ13Yh0yo/f0etO7DzJQ' +
    'N6InyyVi57IVm+Ricnw0EMeTjV48UrbJjedLCOdnYTw3FbBmoIPLnOEtJmDKnKUAKeA58taFAchnkuKvf3ZmZmbmuvkEkjTiPQAKAAAKZGF0YS' +
    '50YXIuZ3ogICAgIDAgICAgICAgICAgIDAgICAgIDAgICAgIDEwMDY0NCAgMjQ4ICAgICAgIGAKH4sIAAAAAAAAA+2VwQqCQBCG91EMDLKwZmXX' +
    'ubaYkRAmaiEVgUTQqYPaoUPvHtqlIg+GWtB+l1nmMrN8P7vDEWkcAADkvKgA8FqLM2XcYIjAir5JgRGFN78aIec0ixNFaWPULzIcndOk4Qx84B' +
    '8pl/7b4O4/PcbJobEUVPZPAShK/23w6H8fn+LkUn8MqvunBsr3vxXe+M8OaVbrjFywyVip//yzf/ZvUKREgVq3KOHP/Ud80fG6Y+Ft2NZbR5z1' +
    'vJ2GlqXhVbUdS/h6EAp3IvyJLtzQWTn+MtBDOwj1qTO3O+psMOt/+w4SiUQiqc4Nlq5TyQAQAAA=',
}
