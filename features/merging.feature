Feature: Sources made of sources
  Of a name held by several sources the first source's skill is the one, with its whole folder. A broken winner is not
  replaced by a lower copy, and nothing but "there is no such skill" is a reason to ask the next source.

  Background:
    Given a skill "mail" in "project" that says "The project's."
    And a skill "mail" in "user" that says "The user's."
    And the file "user/mail/notes.md" of the text "lower copy"
    And a skill "pdf" in "user" that says "Fills forms."
    And a skill "zebra" in "project" that says "Feeds zebras."

  @S3-49
  Scenario: The earlier source wins a name, and the union is sorted by name
    Given the merge of "project, user"
    When its skills are listed
    Then the skills are "mail, pdf, zebra"
    And "mail" is described as "The project's."
    When the skill "mail" is loaded
    Then it is the skill of "project"
    When the skill "pdf" is loaded
    Then it is the skill of "user"
    Given the merge of "user, project"
    When its skills are listed
    Then "mail" is described as "The user's."

  Scenario: A shadowed skill is reported and can be asked for; collisions may be forbidden
    Given the merge of "project, user"
    When its skills are listed
    Then a warning "duplicate-name" about "user/mail/SKILL.md" is reported
    Given the merge of "project, user" that raises on collisions
    When its skills are listed
    Then it is refused as a CollisionError
    And the message mentions "mail"

  @S3-50
  Scenario: The winner owns the whole folder: a file it lacks is not taken from a lower copy
    Given the merge of "project, user"
    When the file "notes.md" of "mail" is read
    Then it is refused as a ResourceNotFoundError
    When the files of "mail" are listed
    Then there are no files
    Given the merge of "user, project"
    When the file "notes.md" of "mail" is read
    Then it holds "lower copy"

  @S3-51
  Scenario: A malformed winner is not masked by a lower copy
    Given a SKILL.md without a description in "project/mail"
    And the merge of "project, user" that raises on breakage
    When its skills are listed
    Then it is refused as a InvalidSkillError
    And it raises its errors, and names what is wrong
    And every kind of question about "mail" is refused as a InvalidSkillError

  @S3-51
  Scenario: By default a malformed winner is withheld and reported, and takes no other skill with it
    Given a SKILL.md without a description in "project/mail"
    And the merge of "project, user"
    When its skills are listed
    Then the skills are "pdf, zebra"
    And a error "description-missing" about "project/mail/SKILL.md" is reported
    And a warning "duplicate-name" about "user/mail/SKILL.md" is reported
    And every kind of question about "mail" is refused as a InvalidSkillError

  @S3-52
  Scenario: A winner's folder without SKILL.md blocks the lower copy
    Given the file "project/pdf/draft.txt" of the text "later"
    And the merge of "project, user"
    Then every kind of question about "pdf" is refused as a InvalidSkillError

  @S3-52
  Scenario: What is blocked is not listed either
    Given the file "project/pdf/draft.txt" of the text "later"
    And the merge of "project, user"
    When its skills are listed
    Then the skills are "mail, zebra"

  @S3-53
  Scenario: Only a missing skill lets the next source answer; a failing disk does not
    Given the merge of a source whose disk fails and of "user"
    When its skills are listed
    Then it is refused as a SourceError
    And every kind of question about "mail" is refused as a SourceError

  @S3-54
  Scenario: None is dropped, merges nest, and a merge of nothing is empty
    Given the merge of "None, project, None"
    When its skills are listed
    Then the skills are "mail, zebra"
    Given the merge of "None" and of the merge of "project, user"
    When its skills are listed
    Then the skills are "mail, pdf, zebra"
    When the file "notes.md" of "mail" is read
    Then it is refused as a ResourceNotFoundError
    When the skill "pdf" is loaded
    Then it is the skill of "user"
    Given the merge of nothing
    When its skills are listed
    Then there are no skills
    And every kind of question about "mail" is refused as a SkillNotFoundError

  @S3-55
  Scenario Outline: A source that gives <what> as a summary is found out
    Given the merge of a source that gives <what> and of "user"
    When its skills are listed
    Then it is refused as a InvalidSkillError

    Examples:
      | what                            |
      | no summary                      |
      | a summary without a name        |
      | a summary without a description |

  @S3-55
  Scenario Outline: A source that gives <what> when asked for a skill is found out
    Given the merge of a source that gives <what> and of "user"
    When the skill "mail" is loaded
    Then it is refused as a InvalidSkillError

    Examples:
      | what           |
      | no skill       |
      | something else |
      | another skill  |

  @S3-44
  Scenario Outline: <what> of no source names what is missing
    When <what> is made of no source
    Then it is refused as a SkillError
    And the message mentions "source"

    Examples:
      | what        |
      | a router    |
      | a filter    |
      | a namespace |

  @S3-44
  Scenario: A source that gives no file and no error is found out
    Given the merge of a source that gives no file
    When the file "notes.md" of "mail" is read
    Then it is refused as a SkillError

  @S3-56
  Scenario: Listing two sources reads the frontmatter of each skill once, no body
    Given a skill "long-one" in "project" with a body of 900000 bytes
    And a skill "long-two" in "user" with a body of 900000 bytes
    And the merge of "project, user"
    When its skills are listed
    Then the skills are "long-one, long-two, mail, pdf, zebra"
    And at most 40000 bytes were read
    And "SKILL.md" was opened 6 times

  @S3-45
  Scenario: Through nested merges, too, a file is read without opening an unchanged SKILL.md again
    Given the file "user/pdf/form.md" of the text "form"
    And all of it has rested for a while
    And the merge of "project" and of the merge of "project, user"
    When its skills are listed
    And the file "form.md" of "pdf" is read
    Then it holds "form"
    And "SKILL.md" was opened 0 times
    And "form.md" was opened 1 times

  @S3-57
  Scenario: A name that is none is refused by the merge before any source is asked
    Given the merge of a source that gives no skill
    When the skill "" is loaded
    Then it is refused as a SkillNotFoundError
    And no source was asked

  @S3-57
  Scenario: Names and paths are judged by the merge before any source is asked
    Given the merge of a source that gives no file
    When everything wrong is asked of it
    Then no source was asked

  @S3-47
  Scenario: Cancellation is never taken for "there is no such skill"
    Given the merge of a source that is cancelled and of "user"
    Then every kind of question is cancelled, with its cause

  # --- namespaces and filters -----------------------------------------------------------------------------------------

  Scenario: A namespace goes before every name, and is needed to ask
    Given the folder "user" under the namespace "acme"
    When its skills are listed
    Then the skills are "acme/mail, acme/pdf"
    When the skill "acme/mail" is loaded
    Then it is described as "The user's."
    When the file "notes.md" of "acme/mail" is read
    Then it holds "lower copy"
    And every kind of question about "mail" is refused as a SkillNotFoundError

  Scenario: What a filter leaves out can neither be listed, loaded nor read
    Given the skills of "user" whose description mentions "forms"
    When its skills are listed
    Then the skills are "pdf"
    And every kind of question about "mail" is refused as a SkillNotFoundError
    When the skill "mail" is loaded
    Then the message does not mention "Did you mean"
