Feature: Agents configured by a list of references
  An agents.yaml names skills by reference. They are resolved when an agent is built, from folders and from a registry on
  loopback, and the agent works with them in either framework. What counts is what the model was sent.

  Background:
    Given a registry with the skills
      | reference         | description           | body                       | files               |
      | acme/pdf@v1.0.0   | Fills old forms.      | # Old PDF                  |                     |
      | acme/pdf@v1.2.0   | Fills PDF forms.      | 1. Fill the form.          |                     |
      | acme/csv@v2.0.0   | Checks CSV tables.    | Read references/rules.md.  | references/rules.md |
      | acme/iban@v0.1.0  | Checks IBAN numbers.  | 1. Take it modulo 97.      | scripts/check.py    |
    And a skill "mail-sorter" in "skills" that says "Sorts mail by sender."

  @S2-38
  Scenario Outline: One reference of each scheme works on its own: <reference> (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference   |
      | <reference> |
    When the <framework> agent "clerk" works with a model that loads "<skill>"
    Then its first request names "<skill>" with "<description>"
    And its last request holds "<body>"

    Examples:
      | framework   | reference                  | skill       | description           | body                      |
      | langchain   | local:./skills/mail-sorter | mail-sorter | Sorts mail by sender. | # mail-sorter             |
      | langchain   | registry:acme/pdf@v1.x     | pdf         | Fills PDF forms.      | 1. Fill the form.         |
      | langchain   | registry:acme/pdf@v1.0.0   | pdf         | Fills old forms.      | # Old PDF                 |
      | langchain   | hub:acme/csv               | csv         | Checks CSV tables.    | Read references/rules.md. |
      | langchain   | {host}:acme/csv@v2         | csv         | Checks CSV tables.    | Read references/rules.md. |
      | langchain   | ID:{acme/iban}             | iban        | Checks IBAN numbers.  | 1. Take it modulo 97.     |
      | llama-index | local:./skills/mail-sorter | mail-sorter | Sorts mail by sender. | # mail-sorter             |
      | llama-index | registry:acme/pdf@v1.x     | pdf         | Fills PDF forms.      | 1. Fill the form.         |
      | llama-index | hub:acme/csv               | csv         | Checks CSV tables.    | Read references/rules.md. |
      | llama-index | ID:{acme/iban}             | iban        | Checks IBAN numbers.  | 1. Take it modulo 97.     |

  @S2-38 @S2-40
  Scenario Outline: All schemes at once: names and descriptions always, instructions only on activation (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference                  |
      | local:./skills/mail-sorter |
      | registry:acme/pdf@v1.x     |
      | hub:acme/csv               |
      | ID:{acme/iban}             |
    When the <framework> agent "clerk" works with a model that loads "csv"
    Then each request begins with "You are a clerk." and names, the same bytes each time
      | skill       | description           |
      | mail-sorter | Sorts mail by sender. |
      | pdf         | Fills PDF forms.      |
      | csv         | Checks CSV tables.    |
      | iban        | Checks IBAN numbers.  |
    And its first request does not hold "Read references/rules.md."
    And its last request holds "Read references/rules.md."
    And its last request does not hold "1. Fill the form."
    And its last request does not hold "1. Take it modulo 97."

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-39
  Scenario Outline: Building resolves everything; running asks the registry for nothing (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference              |
      | registry:acme/pdf@v1.x |
      | hub:acme/csv           |
    When the <framework> agent "clerk" is built
    Then the registry was asked for "acme/pdf" and "acme/csv"
    When the built agent works with a model that loads "pdf"
    Then the registry was asked for nothing
    And its last request holds "1. Fill the form."

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-39 @S2-09
  Scenario Outline: A package that is missing fails the building, with reference and line: <reference> (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference    |
      | hub:acme/csv |
      | <reference>  |
    When the <framework> agent "clerk" is built
    Then it is refused as a <error>
    And the message mentions "agents.yaml:8:9: agents.clerk.skills[1]: "
    And the message mentions the reference as it was typed
    And no model was asked

    Examples:
      | framework   | reference                                       | error                 |
      | langchain   | registry:acme/pfd@v1.x                          | PackageNotFoundError  |
      | langchain   | hub:acme/pdf@v7                                 | VersionNotFoundError  |
      | langchain   | ID:pkg_skl_0000000000000000000000000000000000000000 | PackageNotFoundError |
      | langchain   | local:./skills/nowhere                          | PackageNotFoundError  |
      | langchain   | no.such.host.invalid:acme/pdf                   | RegistryNetworkError  |
      | llama-index | registry:acme/pfd@v1.x                          | PackageNotFoundError  |
      | llama-index | local:./skills/nowhere                          | PackageNotFoundError  |

  @S2-39 @S2-22
  Scenario Outline: A skill that breaks a rule of names or descriptions fails the building: <what>
    Given the file "skills/broken/SKILL.md" of the text "---\n<front>\n---\nBody.\n"
    And an agents.yaml whose agent "clerk" has the skills
      | reference             |
      | local:./skills/broken |
    When the langchain agent "clerk" is built
    Then it is refused as a PackageValidationError
    And the message mentions "agents.yaml:7:9: agents.clerk.skills[0]: "
    And the message mentions "local:./skills/broken"
    And the message mentions "<says>"

    Examples:
      | what                | front                                      | says        |
      | no description      | name: broken                               | description |
      | an empty one        | name: broken\ndescription: ""              | description |
      | no frontmatter name | description: Does it.\nname: "br/oken"     | name        |

  @S2-10
  Scenario Outline: What is no reference is refused when the file is loaded, with its line: <reference>
    Given an agents.yaml whose agent "clerk" has the skills
      | reference   |
      | <reference> |
    When the agents.yaml is loaded
    Then it is refused as a AgentConfigError
    And the message mentions "agents.yaml:7:9: agents.clerk.skills[0]: "
    And the message mentions "a reference is 'host:namespace/name@version'"

    Examples:
      | reference           |
      | acme/pdf            |
      | hub:pdf             |
      | hub:acme/pdf@newest |
      | "hub: acme/pdf"     |

  @S2-41
  Scenario Outline: The skills of an agent are seen in its metadata and in events (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference                  |
      | local:./skills/mail-sorter |
      | registry:acme/pdf@v1.x     |
      | ID:{acme/iban}             |
    When the <framework> agent "clerk" is built
    Then its metadata lists, each with the id and the integrity of its package
      | name        | reference                  | version |
      | mail-sorter | local:./skills/mail-sorter |         |
      | pdf         | registry:acme/pdf@v1.x     | v1.2.0  |
      | iban        | ID:{acme/iban}             |         |
    And an event told of each of them

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-42
  Scenario Outline: Bundled files are read from memory, whatever becomes of the disk (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference                  |
      | local:./skills/mail-sorter |
      | hub:acme/csv               |
    When the <framework> agent "clerk" is built
    And the folder "skills/mail-sorter" is removed
    And the built agent works with a model that
      | calls               | with                                           |
      | load_skill          | {"name": "mail-sorter"}                        |
      | read_skill_resource | {"name": "csv", "path": "references/rules.md"} |
    Then its last request holds "# mail-sorter"
    And its last request holds "This is references/rules.md."

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-43
  Scenario Outline: One tool for skills and their files, in the marker format, by a renderer of the host (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference    |
      | hub:acme/csv |
    When the <framework> agent "clerk" is built by the one-tool recipe and works with a model that
      | calls | with                                                      |
      | skill | {"skill_name": "csv"}                                     |
      | skill | {"skill_name": "csv", "resource": "references/rules.md"}  |
      | skill | {"skill_name": "csv", "resource": "references/rule.md"}   |
    Then its tools are "skill"
    And the tool "skill" takes "skill_name" and perhaps "resource"
    And its first request names "csv" with "Checks CSV tables."
    And its first request does not hold "load_skill"
    And result 1 of the agent holds "Read references/rules.md."
    And result 2 of the agent is
      """
      [SKILL_RESOURCE_READ]
      skill: csv
      resource: references/rules.md
      [FILE_CONTENT_START]
      This is references/rules.md.
      [FILE_CONTENT_END]
      """
    And result 3 of the agent holds "Did you mean 'references/rules.md'?"

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-44 @S2-45
  Scenario Outline: Scripts are text: no tool runs one, and nothing claims to be a sandbox (<framework>)
    Given an agents.yaml whose agent "clerk" has the skills
      | reference      |
      | hub:acme/iban  |
    When the <framework> agent "clerk" works, watched, with a model that
      | calls               | with                                         |
      | load_skill          | {"name": "iban"}                             |
      | read_skill_resource | {"name": "iban", "path": "scripts/check.py"} |
      | run_skill_script    | {"name": "iban", "path": "scripts/check.py"} |
    Then its tools are "load_skill, read_skill_resource"
    And its first request holds "nothing here runs them"
    And its first request does not hold "sandbox"
    And result 2 of the agent holds "This is scripts/check.py."
    And result 3 of the agent holds "run_skill_script"
    And no process was started

    Examples:
      | framework   |
      | langchain   |
      | llama-index |

  @S2-50
  Scenario Outline: Without skills an agent sends what an agent without skillbelt sends (<framework>)
    Given an agents.yaml whose agent "clerk" has no skills
    When the <framework> agent "clerk" works with a model that answers at once
    And a <framework> agent that skillbelt did not make works with the same model
    Then both sent the same bytes

    Examples:
      | framework   |
      | langchain   |
      | llama-index |
