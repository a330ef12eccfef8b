package chart

import (
	"cmp"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestValuesOfTheLedger: the values reach the binary.
func TestValuesOfTheLedger(t *testing.T) {
	got := parsed(t, named("settings.clusterName=one", "settings.ledgerMemory=128Mi", "settings.ledgerDir=/var/lib/karpenter/ledger", "settings.ledgerDisk=2Gi",
		"settings.consoleAddr=127.0.0.1:8082"))
	if want := (options.Ledger{Memory: 128 << 20, Dir: "/var/lib/karpenter/ledger", Disk: 2 << 30}); got.Ledger != want || got.Serving.ConsoleAddr != "127.0.0.1:8082" {
		t.Errorf("got %+v, %q", got.Ledger, got.Serving.ConsoleAddr)
	}
	if off := parsed(t, named("settings.clusterName=one", "settings.ledgerMemory=0Mi")); off.Ledger.Enabled() {
		t.Error("the ledger cannot be turned off")
	}
}

// TestOnlyAConsoleForOthersMayReviewTokens: one on the loopback interface authenticates no clients.
func TestOnlyAConsoleForOthersMayReviewTokens(t *testing.T) {
	for address, want := range map[string]bool{
		"": false, "127.0.0.1:8082": false, "localhost:8082": false, ":8082": true, "0.0.0.0:8082": true,
	} {
		tokens, access := false, false
		for _, g := range grants(named("settings.clusterName=one", "settings.consoleAddr="+address).objects(t)) {
			tokens = tokens || g.covers(call{group: "authentication.k8s.io", resource: "tokenreviews", verb: "create"})
			access = access || g.covers(call{group: "authorization.k8s.io", resource: "subjectaccessreviews", verb: "create"})
		}
		if tokens != want || access != want {
			t.Errorf("%q: token reviews are allowed %t, access reviews %t", address, tokens, access)
		}
	}
}

// TestAConsoleForOthersHasAPort: of the container, of the Service, and of the NetworkPolicy. One on the loopback interface has none.
func TestAConsoleForOthersHasAPort(t *testing.T) {
	for address, want := range map[string]int32{"": 0, "127.0.0.1:8082": 0, "[::1]:8082": 0, ":8082": 8082, "0.0.0.0:9000": 9000} {
		got := map[string]int32{"container": 0, "Service": 0, "NetworkPolicy": 0}
		for _, o := range named("settings.clusterName=one", "networkPolicy.enabled=true", "networkPolicy.consoleFrom[0].ipBlock.cidr=10.0.0.0/8", "settings.consoleAddr="+address).objects(t) {
			switch o := o.(type) {
			case *appsv1.Deployment:
				for _, p := range o.Spec.Template.Spec.Containers[0].Ports {
					if p.Name == "console" {
						got["container"] = p.ContainerPort
					}
				}
			case *corev1.Service:
				for _, p := range o.Spec.Ports {
					if p.TargetPort.String() == "console" {
						got["Service"] = p.Port
					}
				}
			case *networkingv1.NetworkPolicy:
				for _, rule := range o.Spec.Ingress {
					if rule.Ports[0].Port.String() == "console" && len(rule.From) == 1 && rule.From[0].IPBlock.CIDR == "10.0.0.0/8" {
						got["NetworkPolicy"] = cmp.Or(want, -1) // none is wanted
					}
				}
			}
		}
		for where, port := range got {
			if port != want {
				t.Errorf("%q: the port of the %s is %d, want %d", address, where, port, want)
			}
		}
	}
}
