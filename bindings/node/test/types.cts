// The same declarations for CommonJS.
import treering = require("treering");
import pi = require("treering/pi");

export const session: treering.Session = treering.Session.inMemory("/project");
export const manager: pi.SessionManager = pi.SessionManager.inMemory("/project");
