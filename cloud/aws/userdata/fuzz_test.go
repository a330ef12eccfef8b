package userdata_test

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/userdata"
)

// read takes an archive apart with other code than that which wrote it.
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

// FuzzArchives checks that whatever the user adds, Karpenter's part is there, whole and last, or there is an error.
func FuzzArchives_A312_A315(f *testing.F) {
	for _, seed := range []string{
		"", mimeDocument, otherOrder, inBase64, "#!/bin/bash\necho one", "a: b", "--//", "x\n--//--", "Content-Type: multipart/mixed; boundary=\"//\"\n\n--//\n\n\n--//--",
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

// FuzzSettings checks that whatever settings the user adds, those of Karpenter hold, or there is an error.
func FuzzSettings_A317(f *testing.F) {
	for _, seed := range []string{"", ownTOML, "[settings.kubernetes]\ncluster-name = 3", "settings = {kubernetes = {}}", "[settings]\nkubernetes = []", "[[settings]]", "a = 1979-05-27", "[settings.bootstrap-commands.x]\ncommands = [[1]]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		result, err := userdata.Render(custom(base(awsv1.FamilyBottlerocket), text))
		if err != nil {
			return
		}
		var document struct {
			Settings struct {
				Kubernetes struct {
					ClusterName string              `toml:"cluster-name"`
					APIServer   string              `toml:"api-server"`
					Certificate string              `toml:"cluster-certificate"`
					DNS         string              `toml:"cluster-dns-ip"`
					MaxPods     int64               `toml:"max-pods"`
					Labels      map[string]any      `toml:"node-labels"`
					Taints      map[string][]string `toml:"node-taints"`
				} `toml:"kubernetes"`
			} `toml:"settings"`
		}
		if err := toml.Unmarshal([]byte(result.Text), &document); err != nil {
			t.Fatalf("what is rendered cannot be read: %v\n%s", err, result.Text)
		}
		k := document.Settings.Kubernetes
		if k.ClusterName != "c" || k.APIServer != "https://e" || k.Certificate != "Q0E=" || k.DNS != "10.0.100.10" || k.MaxPods != 110 || k.Labels["a"] != "b" ||
			!cmp.Equal(k.Taints, map[string][]string{"karpenter.sh/unregistered": {":NoExecute"}}) {
			t.Errorf("%q gives\n%s", text, result.Text)
		}
	})
}
