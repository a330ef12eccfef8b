// This file lets lease.go declare functions without a body.
