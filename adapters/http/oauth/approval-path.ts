/** Unknown without `Service:Approvals:Enabled`. */
export const APPROVAL_PATH = '/oauth2/approval';
