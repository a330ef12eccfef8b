package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Values leave their place in user data in none of its formats. Three things see to it: labels and taints are what Kubernetes accepts,
// and no text has control characters (validate); texts are written by the quoting functions below or by the encoder of their format; and
// the values of kubelet flags, which programs of the images copy into other files, have none of the characters that mean something there
// (flagValue).

// validate returns an error for an input with texts that user data cannot have.
func (in *Input) validate() error {
	for _, key := range slices.Sorted(maps.Keys(in.Labels)) {
		if err := v1.ValidateNodeLabel(key, in.Labels[key]); err != nil {
			return err
		}
	}
	for _, taint := range in.Taints {
		if err := v1.ValidateNodeTaint(taint); err != nil {
			return err
		}
	}
	k := in.Kubelet
	texts := append([]string{in.ClusterName, in.Endpoint, in.CABundle, in.ClusterCIDR}, in.ClusterDNS...)
	for _, values := range []map[string]string{k.SystemReserved, k.KubeReserved, k.EvictionHard, k.EvictionSoft} {
		for key, value := range values {
			texts = append(texts, key, value)
		}
	}
	slices.Sort(texts)
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("%q has control characters", text)
		}
	}
	return nil
}

// shell quotes a text for POSIX shells.
func shell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// powershell quotes a text for PowerShell, which takes typographic quotes for straight ones.
func powershell(text string) string {
	var out strings.Builder
	for _, r := range text {
		if strings.ContainsRune("'\u2018\u2019\u201a\u201b", r) {
			out.WriteRune(r)
		}
		out.WriteRune(r)
	}
	return "'" + out.String() + "'"
}

// flagValue quotes the value of a kubelet flag. Programs of the images copy flags into unit files and environment files, so that a value
// with quotes, blanks or expansions has no safe form in all of them: it is an error.
func flagValue(text string) (string, error) {
	const safe = "-_.,:/=<%+@"
	unsafe := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(safe, r)
	}
	if at := strings.IndexFunc(text, unsafe); at >= 0 {
		return "", fmt.Errorf("a kubelet flag cannot have the value %q", text)
	}
	return `"` + text + `"`, nil
}
