package source

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestAnotherVersionIsSaid: the plan of a controller of another version may differ.
func TestAnotherVersionIsSaid(t *testing.T) {
	origin := Origin{published: &corev1.ConfigMap{Data: map[string]string{"version": "1.2.3"}}}
	origin.published.Namespace = "infra"
	for own, want := range map[string]string{
		"1.2.3": "settings: from the controller in namespace infra, version 1.2.3",
		"1.3.0": "settings: from the controller in namespace infra, version 1.2.3 (this program is version 1.3.0)",
		"":      "settings: from the controller in namespace infra, version 1.2.3",
	} {
		origin.version = own
		if got := origin.String(); strings.TrimSpace(got) != want {
			t.Errorf("version %q: %q, want %q", own, got, want)
		}
	}
}
