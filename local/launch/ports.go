package launch

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The range lies below the ephemeral ports of Linux and macOS, so that an outgoing connection cannot take a chosen port before its
// server listens on it.
const (
	firstPort = 20000
	lastPort  = 31999
)

// freePorts returns n different loopback ports on which no process listens, without those that are chosen.
func freePorts(n int, chosen map[int]bool) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 100 * n {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if chosen[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		held = append(held, l)
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("finding %d free loopback ports between %d and %d: nearly all are taken", n, firstPort, lastPort)
}
