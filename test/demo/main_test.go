package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-pods=0"}, {"-pods=-3"}, {"-pods=1000000"}, {"-pods=many"}, {"-scene=comedy"}, {"stray"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	s, err := parse([]string{"-pods=7", "-catalog=aws/us-east-1", "--console-addr=127.0.0.1:8082"}, &bytes.Buffer{})
	if err != nil || s.pods != 7 || s.console != "127.0.0.1:8082" || s.catalog != "aws/us-east-1" || s.stay {
		t.Errorf("settings %+v, error %v", s, err)
	}
}

func TestUnknownSceneListsTheScenes(t *testing.T) {
	_, err := parse([]string{"-scene=comedy"}, &bytes.Buffer{})
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, want := range []string{`"comedy"`, "consolidation, drift, expiry, repair, legacy-repair, reboot, gang"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// TestScenesOfClouds: each cloud with a test server has its own scenes, and no other.
func TestScenesOfClouds(t *testing.T) {
	for _, cloud := range []string{cloudAWS, cloudAzure} {
		for flag, want := range map[string]string{"": "quick-start", stormName: stormName, driftName: driftName} {
			s, err := parse([]string{"-cloud=" + cloud, "-scene=" + flag}, &bytes.Buffer{})
			if err != nil {
				t.Errorf("%s, scene %q: %v", cloud, flag, err)
			} else if one := sceneOf(s); one.Name != want || one.onCloud == nil || s.manifests != "examples/"+cloud {
				t.Errorf("%s, scene %q is played as %q with %s", cloud, flag, one.Name, s.manifests)
			}
		}
		if _, err := parse([]string{"-cloud=" + cloud, "-scene=expiry"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), cloud) {
			t.Errorf("%s has the scene expiry: %v", cloud, err)
		}
	}
	if _, err := parse([]string{"-cloud=other"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "kwok, aws, azure") {
		t.Errorf("another cloud: %v", err)
	}
}

func TestSceneOf(t *testing.T) {
	for _, name := range []string{"", "consolidation", "drift", "expiry", "repair", "legacy-repair", "reboot", "gang"} {
		s, err := parse([]string{"-scene=" + name}, &bytes.Buffer{})
		if err != nil {
			t.Errorf("scene %q: %v", name, err)
		} else if one := sceneOf(s); one.Name != name || one.Perform == nil {
			t.Errorf("scene %q is played as %q", name, one.Name)
		}
	}
}
