// Writes a small vulnerability database (schema 6) for grype with grype's own packages. It reads advisories as JSON from
// stdin; the only argument is the output directory. `built` sets the build date of the database.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"time"

	v6 "github.com/anchore/grype/grype/db/v6"
)

type advisory struct {
	ID       string   `json:"id"`
	Provider string   `json:"provider"`
	OS       string   `json:"os"`
	Release  string   `json:"release"`
	Major    string   `json:"major"`
	Minor    string   `json:"minor"`
	Type     string   `json:"type"`
	Package  string   `json:"package"`
	Versions string   `json:"versions"`
	Fix      string   `json:"fix"`
	FixState string   `json:"fix_state"`
	Severity string   `json:"severity"`
	Vector   string   `json:"vector"`
	CVEs     []string `json:"cves"`
	URLs     []string `json:"urls"`
	Text     string   `json:"text"`
}

type input struct {
	Built      *time.Time `json:"built"`
	Advisories []advisory `json:"advisories"`
	Exploited  []string   `json:"exploited"`
}

var formats = map[string]string{"rpm": "rpm", "deb": "dpkg", "apk": "apk"}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	var in input
	must(json.NewDecoder(os.Stdin).Decode(&in))
	directory := os.Args[1]
	must(os.MkdirAll(directory, 0o755))
	db, err := v6.NewWriter(v6.Config{DBDirPath: directory})
	must(err)
	now := time.Now().UTC().Truncate(time.Second)
	providers := map[string]*v6.Provider{}
	provider := func(id string) *v6.Provider {
		if providers[id] == nil {
			providers[id] = &v6.Provider{ID: id, Version: "1", Processor: "gatehouse tests", DateCaptured: &now, InputDigest: "none"}
			must(db.AddProvider(*providers[id]))
		}
		return providers[id]
	}
	for _, a := range in.Advisories {
		blob := &v6.VulnerabilityBlob{ID: a.ID, Description: a.Text}
		if a.Severity != "" {
			blob.Severities = append(blob.Severities, v6.Severity{Scheme: v6.SeveritySchemeCHMLN, Value: a.Severity, Rank: 1})
		}
		if a.Vector != "" {
			blob.Severities = append(blob.Severities, v6.Severity{Scheme: v6.SeveritySchemeCVSS, Value: v6.CVSSSeverity{Vector: a.Vector, Version: "3.1"}, Source: "nvd@nist.gov", Rank: 2})
		}
		for _, url := range a.URLs {
			blob.References = append(blob.References, v6.Reference{URL: url})
		}
		if len(a.CVEs) > 0 {
			blob.Aliases = a.CVEs
		}
		vulnerability := &v6.VulnerabilityHandle{Name: a.ID, Status: v6.VulnerabilityActive, PublishedDate: &now, ModifiedDate: &now, ProviderID: a.Provider, Provider: provider(a.Provider), BlobValue: blob}
		must(db.AddVulnerabilities(vulnerability))
		must(db.AddAffectedPackages(&v6.AffectedPackageHandle{
			Vulnerability:   vulnerability,
			OperatingSystem: &v6.OperatingSystem{Name: a.OS, ReleaseID: a.Release, MajorVersion: a.Major, MinorVersion: a.Minor},
			Package:         &v6.Package{Ecosystem: a.Type, Name: a.Package},
			BlobValue: &v6.PackageBlob{CVEs: a.CVEs, Ranges: []v6.Range{{
				Version: v6.Version{Type: formats[a.Type], Constraint: a.Versions},
				Fix:     &v6.Fix{Version: a.Fix, State: v6.FixStatus(a.FixState)},
			}}},
		}))
	}
	for _, cve := range in.Exploited {
		must(db.AddKnownExploitedVulnerabilities(&v6.KnownExploitedVulnerabilityHandle{Cve: cve, BlobValue: &v6.KnownExploitedVulnerabilityBlob{Cve: cve}}))
	}
	must(db.Close())
	if in.Built != nil {
		raw, err := v6.NewLowLevelDB(filepath.Join(directory, v6.VulnerabilityDBFileName), false, true, false)
		must(err)
		must(raw.Exec("update db_metadata set build_timestamp = ?", in.Built.UTC()).Error)
		handle, err := raw.DB()
		must(err)
		must(handle.Close())
	}
}
