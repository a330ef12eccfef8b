package azuretest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// quotaDefault is the limit of a quota in vCPUs that no test set.
const quotaDefault = 1000

// codeQuota is the error code of a launch that exceeds a quota.
const codeQuota = "OperationNotAllowed"

// Quotas that are not those of a family.
const (
	quotaCores = "cores"
	quotaSpot  = "lowPriorityCores"
)

// used are the vCPUs that count against a quota.
func (a *Account) used(quota string) int {
	sum := 0
	for _, r := range a.resources {
		if !strings.EqualFold(kindOf(r.id), kindVirtualMachine) || r.failed {
			continue
		}
		size, _ := a.sizeOf(textAt(r.body, "properties", "hardwareProfile", "vmSize"))
		if slices.Contains(quotas(size, textAt(r.body, "properties", "priority")), quota) {
			sum += size.VCPUs
		}
	}
	return sum
}

// quotas are those which a virtual machine counts against.
func quotas(s Size, priority string) []string {
	if priority == "Spot" {
		return []string{quotaSpot}
	}
	return []string{s.Family, quotaCores}
}

// limit is the limit of a quota.
func (a *Account) limit(quota string) int {
	if limit, set := a.trouble.limits[quota]; set {
		return limit
	}
	return quotaDefault
}

// checkQuota refuses a virtual machine that exceeds a quota.
func (a *Account) checkQuota(p Pool) error {
	size, _ := a.sizeOf(p.Size)
	for _, quota := range quotas(size, p.Priority) {
		used, limit := a.used(quota), a.limit(quota)
		if used+size.VCPUs <= limit {
			continue
		}
		return refuse(http.StatusConflict, codeQuota, "%s", a.quotaMessage(quota, used, limit, size.VCPUs))
	}
	return nil
}

// quotaMessage is the message of an error about a quota, of which so many vCPUs are used when more are required.
func (a *Account) quotaMessage(quota string, used, limit, more int) string {
	name := map[string]string{quotaSpot: "LowPriorityCores", quotaCores: "Total Regional Cores"}[quota]
	return fmt.Sprintf("Operation could not be completed as it results in exceeding approved %s quota. Additional details - Deployment Model: Resource Manager, Location: %s, "+
		"Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. Submit a request for Quota increase.",
		cmp.Or(name, quota+" Cores"), a.location, limit, used, more, used+more)
}

// listUsages lists the quotas of the location.
func listUsages(a *Account, r *request) (*response, error) {
	names := []string{quotaCores, quotaSpot}
	for _, s := range a.sizes {
		if !slices.Contains(names, s.Family) {
			names = append(names, s.Family)
		}
	}
	items := []map[string]any{}
	for _, name := range names {
		items = append(items, map[string]any{
			"unit": "Count", "currentValue": a.used(name), "limit": a.limit(name), "name": map[string]any{"value": name, "localizedValue": name},
		})
	}
	return a.page(r, items), nil
}
