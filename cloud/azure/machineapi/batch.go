package machineapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// InBatch is an AKSMachine of a batch, with what differs from the others.
type InBatch struct {
	Name  string            `json:"machineName"`
	Zones []string          `json:"zones"`
	Tags  map[string]string `json:"tags,omitempty"`
}

// CreateBatch requests several AKSMachines with the same body, at least one, by one request. It returns once Azure has accepted all of them. An error of
// Azure can be about some of them, and the others are created then.
//
// Only a throttled request is sent again: after other failures some AKSMachines may exist, and a second request would call them conflicts.
func (c *Client) CreateBatch(ctx context.Context, batch []InBatch, body any) error {
	header, err := batchHeader(batch)
	if err != nil {
		return err
	}
	ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{
		MaxRetries: 3, RetryDelay: 800 * time.Millisecond, MaxRetryDelay: time.Minute, StatusCodes: []int{http.StatusTooManyRequests},
	})
	_, err = c.put(ctx, batch[0].Name, body, "BatchPutMachine", header)
	return err
}

// batchHeader is the header that names the AKSMachines of a batch: JSON in ASCII, as headers are.
func batchHeader(batch []InBatch) (string, error) {
	text, err := json.Marshal(map[string][]InBatch{"batchMachines": batch})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, r := range string(text) {
		if r < 0x7f {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String(), nil
}
