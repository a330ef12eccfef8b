package userdata_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/userdata"
)

// read parses an archive with other code than that which wrote it.
func read(t *testing.T, text string) (types, contents []string) {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return types, contents
		}
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		types, contents = append(types, part.Header.Get("Content-Type")), append(contents, string(content))
	}
}

// theirs are the parts of the user's data: those of an archive, decoded where their headers are dropped, or the text itself. Carriage
// returns are removed, as in archives.
func theirs(t *testing.T, text string, decode bool) []string {
	t.Helper()
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return []string{}
	case !strings.HasPrefix(trimmed, "MIME-Version:") && !strings.HasPrefix(trimmed, "Content-Type:"):
		return []string{strings.ReplaceAll(text, "\r", "")}
	}
	message, err := mail.ReadMessage(strings.NewReader(trimmed))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var content io.Reader = part
		switch encoding := part.Header.Get("Content-Transfer-Encoding"); {
		case decode && strings.EqualFold(encoding, "base64"):
			content = base64.NewDecoder(base64.StdEncoding, part)
		case decode && strings.EqualFold(encoding, "quoted-printable"):
			content = quotedprintable.NewReader(part)
		}
		whole, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.ReplaceAll(string(whole), "\r", ""))
	}
}

// FuzzArchives checks that any custom user data is kept and Karpenter's part is intact and last, or there is an error.
func FuzzArchives(f *testing.F) {
	f.Attr("covers", "A312 A315")
	for _, seed := range []string{
		"", mimeDocument, otherOrder, inBase64, inQuotes, "#!/bin/bash\necho one", "a: b", "--//", "x\n--//--", "Content-Type: multipart/mixed; boundary=\"//\"\n\n--//\n\n\n--//--",
		"MIME-Version: 1.0", "\r--//", "Content-Type: multipart/mixed; boundary=a\n\n--a\nX: y\r\r\n\nb\n--a--",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for family, last := range map[awsv1.Family]string{awsv1.FamilyAL2: al2Script, awsv1.FamilyAL2023: strings.Replace(al2023Config, "      strategy: RAID0", "", 1)} {
			result, err := userdata.Render(custom(base(family), text))
			if err != nil {
				continue
			}
			again, err := userdata.Render(custom(base(family), text))
			if err != nil || again.Text != result.Text {
				t.Fatalf("rendered twice, it differs: %v", err)
			}
			types, contents := read(t, result.Text)
			got := contents[len(contents)-1]
			if family == awsv1.FamilyAL2 && got != last {
				t.Errorf("the last part is %q", got)
			}
			if diff := cmp.Diff(theirs(t, text, family == awsv1.FamilyAL2023), append([]string{}, contents[:len(contents)-1]...)); diff != "" {
				t.Errorf("%s: the user's parts (-want +got)\n%s", family, diff)
			}
			if family == awsv1.FamilyAL2023 {
				var want, have map[string]any
				if err := errors.Join(yaml.Unmarshal([]byte(last), &want), yaml.Unmarshal([]byte(got), &have)); err != nil {
					t.Fatal(err)
				}
				delete(want["spec"].(map[string]any), "instance")
				delete(have["spec"].(map[string]any), "instance")
				if diff := cmp.Diff(want, have); diff != "" {
					t.Errorf("types %v (-want +got)\n%s", types, diff)
				}
			}
		}
	})
}

// FuzzSettings checks that for any custom settings Karpenter's settings apply and the others are kept, or there is an error.
func FuzzSettings(f *testing.F) {
	f.Attr("covers", "A317")
	for _, seed := range []string{"", ownTOML, "[settings.kubernetes]\ncluster-name = 3", "settings = {kubernetes = {}}", "[settings]\nkubernetes = []", "[[settings]]", "a = 1979-05-27", "[settings.bootstrap-commands.x]\ncommands = [[1]]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		result, err := userdata.Render(custom(base(awsv1.FamilyBottlerocket), text))
		if err != nil {
			return
		}
		// Maps, because decoding into a struct ignores the case of keys.
		kubernetes := tableOf(settingsOf(t, result.Text), "kubernetes")
		for key, want := range map[string]any{
			"cluster-name": "c", "api-server": "https://e", "cluster-certificate": "Q0E=", "cluster-dns-ip": "10.0.100.10", "max-pods": int64(110),
			"node-taints": map[string]any{"karpenter.sh/unregistered": []any{":NoExecute"}},
		} {
			if diff := cmp.Diff(want, kubernetes[key]); diff != "" {
				t.Errorf("%q gives another %s (-want +got)\n%s", text, key, diff)
			}
		}
		if label := tableOf(kubernetes, "node-labels")["a"]; label != "b" {
			t.Errorf("%q gives the label %v", text, label)
		}
		checkKept(t, text, result)
	})
}

// settingsOf are the settings of a document.
func settingsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	if err := toml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatalf("what is rendered cannot be read: %v\n%s", err, text)
	}
	return tableOf(document, "settings")
}

// tableOf is a table in a table; empty if it is missing or another type.
func tableOf(parent map[string]any, key string) map[string]any {
	out, _ := parent[key].(map[string]any)
	return out
}

// checkKept checks that settings which Karpenter does not control are unchanged.
func checkKept(t *testing.T, text string, result userdata.Result) {
	t.Helper()
	written, got := settingsOf(t, text), settingsOf(t, result.Text)
	// NaN is not equal to itself.
	equal := func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
	for key, value := range written {
		if key != "kubernetes" && key != "bootstrap-commands" && !equal(value, got[key]) {
			t.Errorf("settings.%s is %v, was %v", key, got[key], value)
		}
	}
	own := []string{"cluster-name", "api-server", "cluster-certificate", "cluster-dns-ip", "max-pods", "node-labels", "node-taints"}
	for key, value := range tableOf(written, "kubernetes") {
		if !slices.Contains(own, key) && !slices.Contains(result.Dropped, key) && !equal(value, tableOf(got, "kubernetes")[key]) {
			t.Errorf("settings.kubernetes.%s is %v, was %v", key, tableOf(got, "kubernetes")[key], value)
		}
	}
	for key, value := range tableOf(tableOf(written, "kubernetes"), "node-labels") {
		if key != "a" && !equal(value, tableOf(tableOf(got, "kubernetes"), "node-labels")[key]) {
			t.Errorf("label %q is gone", key)
		}
	}
	if len(tableOf(written, "bootstrap-commands")) != len(tableOf(got, "bootstrap-commands")) {
		t.Errorf("commands %v, were %v", got["bootstrap-commands"], written["bootstrap-commands"])
	}
}

// FuzzScripts checks that any custom script is kept, before Karpenter's call, in one pair of tags, or there is
// an error.
func FuzzScripts(f *testing.F) {
	f.Attr("covers", "A321")
	for _, seed := range []string{"", "Write-Host 'one'", "</powershell>", "<powershell>\nx\n</powershell>", "# </PowerShell >", "$x = @'\n'@", "<persist>true</persist>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := base(awsv1.FamilyWindows2022)
		plain, err := userdata.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		result, err := userdata.Render(custom(in, text))
		if err != nil {
			if tags(text) == 0 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		const head = "<powershell>\n"
		want := strings.TrimPrefix(plain.Text, head)
		if text != "" {
			want = text + "\n" + want
		}
		if result.Text != head+want || tags(result.Text) != 2 {
			t.Errorf("%q gives\n%s", text, result.Text)
		}
	})
}

// tags counts the tags of scripts.
func tags(text string) int {
	text = strings.ToLower(text)
	return strings.Count(text, "<powershell>") + strings.Count(text, "</powershell>")
}

// FuzzVerbatim checks that custom images get the user's data unchanged.
func FuzzVerbatim(f *testing.F) {
	f.Attr("covers", "A322")
	for _, seed := range []string{"", "#!/bin/sh\r\n", "MIME-Version: 1.0", "<powershell>", "\xff\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if result, err := userdata.Render(custom(base(awsv1.FamilyCustom), text)); err != nil || result.Text != text {
			t.Errorf("%q gives %q, %v", text, result.Text, err)
		}
	})
}
