package controlplane

import "testing"

func TestVersionsThatAreSupported(t *testing.T) {
	t.Attr("covers", "N308")
	for version, want := range map[string]bool{"1.25": false, "1.26": true, "1.37": true, "1.38": false, "2.30": false, "1": false, "": false} {
		if got := compatible(version); got != want {
			t.Errorf("%q: supported is %t, want %t", version, got, want)
		}
	}
}
