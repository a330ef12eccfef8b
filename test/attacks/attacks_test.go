package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestTable: names are unique, and every attack but the first attacks with objects of the attacker's namespace, within the size of a request.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for i, a := range attacks() {
		if names[a.name] || a.what == "" {
			t.Errorf("attack %q has a name of another, or no description", a.name)
		}
		names[a.name] = true
		objects := a.objects()
		if len(objects) == 0 && i > 0 {
			t.Errorf("attack %q creates nothing", a.name)
		}
		if a.gone && a.judge != nil {
			t.Errorf("attack %q is gone when it is judged", a.name)
		}
		for _, o := range objects {
			text, err := o.(*corev1.Pod).Marshal()
			if err != nil || o.GetNamespace() != attacker || len(text) > 1<<20 {
				t.Errorf("attack %q creates %T %s/%s of %d bytes (%v)", a.name, o, o.GetNamespace(), o.GetName(), len(text), err)
			}
		}
	}
}

// TestLog: long messages, long passes and panics are found in a log.
func TestLog(t *testing.T) {
	long := strings.Repeat("x", messageLimit+1)
	for name, c := range map[string]struct{ log, want string }{
		"nothing":        {`{"message":"planned","duration":"1.5s"}` + "\n" + `{"message":"x","stacktrace":"` + long + `"}`, ""},
		"a long message": {`{"message":"` + long + `"}`, "more than 1024 bytes"},
		"a long field":   {`{"message":"could not schedule pod(s)","error":"` + long + `"}`, `"error" of log line "could not schedule`},
		"a loop":         {strings.Repeat(`{"error":"NodeClaim.karpenter.sh \"a\" is invalid: x"}`+"\n", 6), "refused NodeClaims as invalid in 6 passes"},
		"a panic":        {"panic: oh\n", "the controller logs: panic: oh"},
		"a caught panic": {`{"message":"Observed a panic"}`, "the controller logs"},
	} {
		r := &result{}
		r.readLog(strings.NewReader(c.log))
		if got := strings.Join(r.findings, "; "); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
		if name == "nothing" && r.pass.Seconds() != 1.5 {
			t.Errorf("the longest pass took %s, want 1.5s", r.pass)
		}
	}
}

func TestMemoryIsMeasured(t *testing.T) {
	if bytes, err := peakMemory(1); err != nil || bytes <= 0 {
		t.Errorf("process 1 used %d bytes at most, %v", bytes, err)
	}
	if _, err := peakMemory(-1); err == nil {
		t.Error("a process that does not exist has memory")
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-attack=("}, {"-none"}, {"stray"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	s, err := parse([]string{"-list", "-attack=grace"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := runAll(t.Context(), s, &out); err != nil || !strings.Contains(out.String(), "endless-grace") || strings.Contains(out.String(), "none") {
		t.Errorf("listed %q, %v", &out, err)
	}
	if s, err = parse([]string{"-list", "-attack=^no such$"}, io.Discard); err != nil || runAll(t.Context(), s, io.Discard) == nil {
		t.Error("no attack of that name is no error")
	}
}
