package azuretest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// tokenPlaceholder is where clients put the bootstrap token.
const tokenPlaceholder = "{{.TokenID}}.{{.TokenSecret}}"

// bootstrap serves the node bootstrapping service: what a node runs at its first boot. Unlike other requests that read, this one has a
// body.
//
// Source: Azure provider specification, node-bootstrapping client.
func bootstrap(a *Account, r *request) (*response, error) {
	var sent struct {
		ProvisionProfile struct {
			VMSize              string `json:"vmSize"`
			OrchestratorVersion string `json:"orchestratorVersion"`
			Distro              string `json:"distro"`
		} `json:"provisionProfile"`
		ProvisionHelperValues struct {
			SKUCPU    float64 `json:"skuCPU"`
			SKUMemory float64 `json:"skuMemory"`
		} `json:"provisionHelperValues"`
	}
	if err := json.Unmarshal(r.body, &sent); err != nil {
		return nil, refuse(http.StatusBadRequest, "BadRequest", "The request content was invalid and could not be deserialized: '%v'.", err)
	}
	profile := sent.ProvisionProfile
	var missing []string
	for _, field := range []struct {
		name string
		sent bool
	}{
		{"vmSize", profile.VMSize != ""},
		{"orchestratorVersion", profile.OrchestratorVersion != ""},
		{"distro", profile.Distro != ""},
		{"skuCPU", sent.ProvisionHelperValues.SKUCPU > 0},
		{"skuMemory", sent.ProvisionHelperValues.SKUMemory > 0},
	} {
		if !field.sent {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		return nil, refuse(http.StatusBadRequest, "BadRequest", "Fields are missing: %s.", strings.Join(missing, ", "))
	}
	script := "#!/bin/bash\n# " + profile.Distro + " " + profile.VMSize + " in " + a.location + "\nTOKEN=" + tokenPlaceholder + "\n"
	return ok(map[string]any{
		"customData": base64.StdEncoding.EncodeToString([]byte(script)), "cse": "/usr/bin/nohup /bin/bash -c 'TOKEN=" + tokenPlaceholder + " /opt/provision.sh'",
		"osImageConfig": map[string]any{}, "sigImageConfig": map[string]any{},
	}), nil
}
