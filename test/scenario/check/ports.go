package check

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// samePort finds two pods with the same hostPort on one node. An unspecified address means all addresses.
func samePort(pods []*corev1.Pod) (string, bool) {
	type claim struct {
		pod      string
		ip       string
		port     int32
		protocol corev1.Protocol
	}
	var seen []claim
	for _, pod := range pods {
		var own []claim
		for _, c := range pod.Spec.Containers {
			for _, p := range c.Ports {
				if pod.Spec.HostNetwork {
					p.HostPort = p.ContainerPort
				}
				if p.HostPort == 0 {
					continue
				}
				mine := claim{pod.Name, p.HostIP, p.HostPort, p.Protocol}
				if mine.ip == "0.0.0.0" || mine.ip == "::" {
					mine.ip = ""
				}
				if mine.protocol == "" {
					mine.protocol = corev1.ProtocolTCP
				}
				own = append(own, mine)
			}
		}
		for _, a := range own {
			for _, b := range seen {
				if a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == "" || b.ip == "") {
					return fmt.Sprintf("pods %s and %s both use host port %d", b.pod, a.pod, a.port), true
				}
			}
		}
		seen = append(seen, own...)
	}
	return "", false
}
